import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { earlyInMinute } from '@gatehouse/test/minute';
import type { SimulatorRequest } from '@gatehouse/test/provider-simulator/records';
import { flood, LimitedSystem } from './limited-system.ts';

const clients = 300;

describe('limits with three replicas of chat whose wall clocks are wrong', () => {
  let system: LimitedSystem;
  beforeAll(async () => {
    system = await LimitedSystem.start();
  });
  afterAll(() => system.stop(), 60_000);

  it('let exactly 60 of 300 requests through in a minute, also when a replica dies in it', async () => {
    await system.chaos.explain(async () => {
      const { key, client } = await system.makeTenant({ limits: { requests_per_minute: 60 } });
      await earlyInMinute(15);
      const outcomes = await flood(client, {}, clients);
      expect(Map.groupBy(outcomes, ({ status }) => status).get(200)).toHaveLength(60);
      expect(new Set(outcomes.map(({ errorCode }) => errorCode))).toEqual(
        new Set([null, 'rate_limit_exceeded']),
      );
      expect(system.served(outcomes)).toHaveLength(60);
      expect(await system.limitOf(key, 'requests')).toMatchObject({ used: 60, remaining: 0 });
      await system.kill('chat-2');
      const more = await flood(client, {}, 60);
      expect(more.filter(({ status }) => status === 200)).toEqual([]);
      expect(system.served(more)).toEqual([]);
    });
  });

  it('let exactly 10 of 300 requests run at a time, and free a dead replica’s slots within 30 s', async () => {
    await system.chaos.explain(async () => {
      const { chaos } = system;
      const { key, client } = await system.makeTenant({ limits: { max_concurrent: 10 } });
      await system.untilAllReplicasAnswer();
      const outcomes = await flood(client, { provider: { delay_ms: 3_000 } }, clients);
      expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(10);
      expect(atOnce(system.served(outcomes))).toBe(10);

      // One after the other, over all replicas: no client is refused because of its own last request.
      for (let round = 0; round < 12; round += 1) {
        const batch = await flood(client, {}, 10);
        expect(batch.map(({ status, errorCode }) => `${status} ${errorCode ?? ''}`)).toEqual(
          Array(10).fill('200 '),
        );
      }

      const leaving = new AbortController();
      const endings: string[] = [];
      const held = Array.from({ length: 10 }, async () => {
        const call = { provider: { delay_ms: 60_000 }, timeoutMs: 45_000, signal: leaving.signal };
        endings.push((await client.complete(call)).ending);
      });
      await chaos.within(5_000, 'ten requests are under way', async () => system.openAtProvider() === 10);
      await system.kill('chat-3');
      // The provider and the clients of the dead replica have both seen its connections close.
      await chaos.within(5_000, 'its connections are closed', async () => {
        return endings.length === 10 - system.openAtProvider();
      });
      const lost = endings.length;
      chaos.mark('a replica was killed', { slots: lost });
      const ms = await chaos.within(30_000, 'its slots are free', async () => {
        const { used } = await system.limitOf(key, 'concurrency');
        return used === 10 - lost;
      });
      expect(ms).toBeLessThan(30_000);
      leaving.abort();
      await Promise.all(held);
    });
  });
});

/** The most requests that were with the provider at any time. */
function atOnce(requests: readonly SimulatorRequest[]): number {
  const steps = requests.flatMap(({ at, finished_at, client_closed_at }) => [
    { at, by: 1 },
    { at: finished_at ?? client_closed_at ?? Infinity, by: -1 },
  ]);
  let now = 0;
  // An end before a start of the same millisecond.
  return Math.max(...steps.sort((a, b) => a.at - b.at || a.by - b.by).map(({ by }) => (now += by)));
}
