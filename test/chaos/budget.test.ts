import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { picoOf } from '@gatehouse/kit/money';
import type { SimulatorRequest } from '@gatehouse/test/provider-simulator/records';
import { allArrived } from './audit.ts';
import type { Outcome } from './gateway-client.ts';
import { flood, LimitedSystem } from './limited-system.ts';

/** Pico-USD per token of gpt-4.1-mini in deploy/local/models.yaml. */
const inputPrice = 400_000n;
const outputPrice = 1_600_000n;
const budget = '0.05';

describe('a budget with three replicas of chat whose wall clocks are wrong', () => {
  let system: LimitedSystem;
  beforeAll(async () => {
    system = await LimitedSystem.start();
  });
  afterAll(() => system.stop(), 60_000);

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
        const { used } = await system.limitOf(key, 'budget');
        chaos.mark('spent', { used, runs: await costOfRuns() });
        return picoOf(String(used)) === BigInt(await costOfRuns());
      });
      expect(BigInt(await costOfRuns())).toBeLessThanOrEqual(picoOf(budget));
    });
  }, 240_000);
});

/** What the provider charges for what it delivered. */
function spent(requests: readonly SimulatorRequest[]): bigint {
  return requests.reduce((sum, { usage, usage_delivered: delivered }) => {
    if (usage === null || !delivered) return sum;
    const output = 'completion_tokens' in usage ? usage.completion_tokens : 0;
    return sum + BigInt(usage.prompt_tokens) * inputPrice + BigInt(output) * outputPrice;
  }, 0n);
}
