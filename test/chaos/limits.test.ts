import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { picoOf } from '@gatehouse/kit/money';
import { expectSuccess, GatewayClient as ApiClient } from '@gatehouse/local/gateway-client';
import { earlyInMinute } from '@gatehouse/test/minute';
import type { SimulatorRequest } from '@gatehouse/test/provider-simulator/records';
import { allArrived } from './audit.ts';
import { ChaosSystem } from './chaos-system.ts';
import { GatewayClient, type CompletionCall, type Outcome } from './gateway-client.ts';

const clients = 300;
/** Pico-USD per token of gpt-4.1-mini in deploy/local/models.yaml. */
const inputPrice = 400_000n;
const outputPrice = 1_600_000n;
/** The wall clocks of the processes differ by up to 90 s: each is off by a multiple of 45 s that follows its id. */
const skew = path.join(import.meta.dirname, '../support/skewed-clock.ts');

interface LimitState {
  resource: string;
  used: number | string;
  remaining: number | string;
}

describe('limits with three replicas of chat whose wall clocks are wrong', () => {
  let chaos: ChaosSystem;
  const opened: GatewayClient[] = [];
  beforeAll(async () => {
    chaos = await ChaosSystem.start({
      GATEHOUSE_REPLICAS: 'chat=3',
      NODE_OPTIONS: `--import=${skew}`,
    });
  }, 120_000);
  afterAll(async () => {
    for (const client of opened) client.close();
    await chaos.stop();
  }, 60_000);

  async function limitedTenant(settings: Record<string, unknown>): Promise<{
    id: string;
    key: string;
    client: GatewayClient;
  }> {
    const { id, userKey: key } = await chaos.makeTenant(settings);
    const client = new GatewayClient(chaos.credentials.url, key);
    opened.push(client);
    return { id, key, client };
  }

  async function limitOf(key: string, resource: string): Promise<LimitState> {
    const answer = await new ApiClient(chaos.credentials.url).call(key, 'GET', '/v1/limits');
    const { limits } = expectSuccess(answer, 'reading limits') as { limits: LimitState[] };
    const found = limits.find((limit) => limit.resource === resource);
    if (found === undefined) throw new Error(`no limit of ${resource}: ${JSON.stringify(limits)}`);
    return found;
  }

  /** Many clients at once. */
  function flood(client: GatewayClient, call: CompletionCall, count = clients): Promise<Outcome[]> {
    return Promise.all(Array.from({ length: count }, () => client.complete(call)));
  }

  function served(outcomes: readonly Outcome[]): SimulatorRequest[] {
    const ids = new Set(outcomes.map(({ id }) => id));
    return chaos.simulator.requests.filter(({ id }) => id !== null && ids.has(id));
  }

  it('let exactly 60 of 300 requests through in a minute, also when a replica dies in it', async () => {
    await chaos.explain(async () => {
      const { key, client } = await limitedTenant({ limits: { requests_per_minute: 60 } });
      await earlyInMinute(25);
      const outcomes = await flood(client, {});
      expect(Map.groupBy(outcomes, ({ status }) => status).get(200)).toHaveLength(60);
      expect(new Set(outcomes.map(({ errorCode }) => errorCode))).toEqual(
        new Set([null, 'rate_limit_exceeded']),
      );
      expect(served(outcomes)).toHaveLength(60);
      expect(await limitOf(key, 'requests')).toMatchObject({ used: 60, remaining: 0 });
      await chaos.local.signal('chat-2', 'SIGKILL');
      const more = await flood(client, {}, 60);
      expect(more.filter(({ status }) => status === 200)).toEqual([]);
      expect(served(more)).toEqual([]);
    });
  }, 120_000);

  it('let exactly 10 of 300 requests run at a time, and free a dead replica’s slots within 30 s', async () => {
    await chaos.explain(async () => {
      const { key, client } = await limitedTenant({ limits: { max_concurrent: 10 } });
      await chaos.within(20_000, 'three replicas answer', () => allReplicasUp());
      const provider = { delay_ms: 3_000 };
      const outcomes = await flood(client, { provider });
      expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(10);
      expect(atOnce(served(outcomes))).toBe(10);

      // One after the other, over all replicas: nobody is refused for its own last request.
      for (let round = 0; round < 12; round += 1) {
        const batch = await flood(client, {}, 10);
        expect(batch.map(({ status, errorCode }) => `${status} ${errorCode ?? ''}`)).toEqual(
          Array(10).fill('200 '),
        );
      }

      const held = flood(client, { provider: { delay_ms: 60_000 }, timeoutMs: 45_000 }, 10);
      await chaos.within(5_000, 'ten requests are under way', async () =>
        Promise.resolve(
          chaos.simulator.requests.filter(
            ({ finished_at, client_closed_at }) => finished_at === null && client_closed_at === null,
          ).length === 10,
        ),
      );
      await chaos.local.signal('chat-3', 'SIGKILL');
      const lost = 10 - (await openAtProvider());
      chaos.mark('a replica was killed', { slots: lost });
      const ms = await chaos.within(30_000, 'its slots are free', async () => {
        const { used } = await limitOf(key, 'concurrency');
        return used === 10 - lost;
      });
      expect(ms).toBeLessThan(30_000);
      await held;
    });
  }, 180_000);

  it('never spend more than a budget, and settle what a dead replica reserved', async () => {
    await chaos.explain(async () => {
      const budget = '0.05';
      const { key, client, id } = await limitedTenant({ budget: { usd: budget, period: 'month' } });
      await chaos.within(20_000, 'three replicas answer', () => allReplicasUp());
      chaos.simulator.reset();
      const call = {
        fields: { max_tokens: 100 },
        provider: { delay_ms: 20, usage: { prompt_tokens: 50, completion_tokens: 100 } },
      };
      const outcomes: Outcome[] = [];
      let killed = false;
      for (let round = 0; round < 60; round += 1) {
        outcomes.push(...(await flood(client, call, 30)));
        if (outcomes.some(({ errorCode }) => errorCode === 'insufficient_quota')) break;
        if (killed || spent(served(outcomes)) < picoOf(budget) / 3n) continue;
        killed = true;
        const hanging = flood(client, { ...call, provider: { delay_ms: 60_000 }, timeoutMs: 40_000 }, 9);
        await sleep(500);
        await chaos.local.signal('chat-1', 'SIGKILL');
        void hanging.then((lost) => outcomes.push(...lost));
      }
      expect(killed).toBe(true);
      const refused = outcomes.filter(({ errorCode }) => errorCode === 'insufficient_quota');
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.every(({ status }) => status === 429)).toBe(true);
      expect(spent(chaos.simulator.requests)).toBeLessThanOrEqual(picoOf(budget));

      await chaos.within(60_000, 'no run is open', () => allArrived(chaos));
      const costOfRuns = async (): Promise<string> => {
        const [row] = await chaos.rows<{ cost: string }>(
          'select coalesce(sum(cost_pico), 0)::text as cost from analytics.traces where tenant_id = $1',
          [id],
        );
        return row?.cost ?? '';
      };
      await chaos.within(40_000, 'what was spent is what the runs cost', async () => {
        const { used } = await limitOf(key, 'budget');
        chaos.mark('spent', { used, runs: await costOfRuns() });
        return picoOf(String(used)) === BigInt(await costOfRuns());
      });
      expect(BigInt(await costOfRuns())).toBeLessThanOrEqual(picoOf(budget));
    });
  }, 240_000);

  async function allReplicasUp(): Promise<boolean> {
    const rows = await chaos.rows<{ count: number }>(
      `select count(*)::int as count from chat.instances
       where dead_at is null and heartbeat_at > now() - interval '6 seconds'`,
    );
    return rows[0]?.count === 3;
  }

  /** Requests that have a connection to the provider, once the dead replica's are closed. */
  async function openAtProvider(): Promise<number> {
    await sleep(1_000);
    return chaos.simulator.requests.filter(
      ({ finished_at, client_closed_at }) => finished_at === null && client_closed_at === null,
    ).length;
  }
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

/** What the provider charges for what it delivered. */
function spent(requests: readonly SimulatorRequest[]): bigint {
  return requests.reduce((sum, { usage, usage_delivered: delivered }) => {
    if (usage === null || !delivered) return sum;
    const output = 'completion_tokens' in usage ? usage.completion_tokens : 0;
    return sum + BigInt(usage.prompt_tokens) * inputPrice + BigInt(output) * outputPrice;
  }, 0n);
}
