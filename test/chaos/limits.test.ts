import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { picoOf } from '@gatehouse/kit/money';
import { earlyInMinute } from '@gatehouse/test/minute';
import type { SimulatorRequest } from '@gatehouse/test/provider-simulator/records';
import { allArrived } from './audit.ts';
import type { Outcome } from './gateway-client.ts';
import { flood, LimitedSystem, mostAtOnce } from './limited-system.ts';

const clients = 300;
/** Pico-USD per token of gpt-4.1-mini in deploy/local/models.yaml. */
const inputPrice = 400_000n;
const outputPrice = 1_600_000n;
const budget = '0.05';

let system: LimitedSystem;
beforeAll(async () => {
  system = await LimitedSystem.start();
});
afterAll(() => system.stop(), 60_000);

describe('limits with three replicas of chat whose wall clocks are wrong', () => {
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
      expect(mostAtOnce(system.served(outcomes))).toBe(10);

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

describe('a budget with three replicas of chat whose wall clocks are wrong', () => {
  it('is never passed, and is charged for what a dead replica reserved', async () => {
    const { chaos } = system;
    await chaos.explain(async () => {
      const { key, client, id } = await system.makeTenant({ budget: { usd: budget, period: 'month' } });
      await system.untilAllReplicasAnswer();
      const call = {
        fields: { max_tokens: 100 },
        provider: { delay_ms: 20, usage: { prompt_tokens: 50, completion_tokens: 100 } },
      };
      const outcomes: Outcome[] = [];
      let hanging: Promise<Outcome[]> | undefined;
      for (let round = 0; round < 60; round += 1) {
        outcomes.push(...(await flood(client, call, 30)));
        if (outcomes.some(({ errorCode }) => errorCode === 'insufficient_quota')) break;
        if (hanging !== undefined || spent(system.served(outcomes)) < picoOf(budget) / 3n) continue;
        const leaving = new AbortController();
        const slow = { ...call, provider: { delay_ms: 60_000 }, timeoutMs: 40_000, signal: leaving.signal };
        hanging = flood(client, slow, 9);
        await chaos.within(5_000, 'nine requests are under way', async () => system.openAtProvider() === 9);
        await system.kill('chat-1');
        // Those of the other replicas have shown enough.
        leaving.abort();
      }
      expect(hanging).toBeDefined();
      outcomes.push(...((await hanging) ?? []));
      const refused = outcomes.filter(({ errorCode }) => errorCode === 'insufficient_quota');
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.every(({ status }) => status === 429)).toBe(true);
      expect(spent(system.served(outcomes))).toBeLessThanOrEqual(picoOf(budget));

      await chaos.within(60_000, 'no run is open', () => allArrived(chaos));
      const costOfRuns = async (): Promise<string> => {
        const [row] = await chaos.rows<{ cost: string }>(
          'select coalesce(sum(cost_pico), 0)::text as cost from analytics.traces where tenant_id = $1',
          [id],
        );
        return row?.cost ?? '';
      };
      await chaos.within(40_000, 'what was spent is what the runs cost', async () => {
        const { used } = await system.limitOf(key, 'budget');
        chaos.mark('spent', { used, runs: await costOfRuns() });
        return picoOf(String(used)) === BigInt(await costOfRuns());
      });
      expect(BigInt(await costOfRuns())).toBeLessThanOrEqual(picoOf(budget));
    });
  }, 240_000);
});

/** The provider's charges for what it delivered. */
function spent(requests: readonly SimulatorRequest[]): bigint {
  return requests.reduce((sum, { usage, usage_delivered: delivered }) => {
    if (usage === null || !delivered) return sum;
    const output = 'completion_tokens' in usage ? usage.completion_tokens : 0;
    return sum + BigInt(usage.prompt_tokens) * inputPrice + BigInt(output) * outputPrice;
  }, 0n);
}
