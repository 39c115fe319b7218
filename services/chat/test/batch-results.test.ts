import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { batchApis } from './batch-apis.ts';
import { batchPace, charged } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import { withClaude } from './message-batch-client.ts';

/** Results that a provider has in part, several times or not at all, beside what the batch counts. */

let simulator: ProviderSimulator;
let harness: ChatHarness;
beforeAll(async () => {
  simulator = await startProviderSimulator({ apiKey: 'provider-key' });
  harness = await ChatHarness.start({ batchPace }, withClaude(simulator));
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await harness.stop();
  await simulator.close();
});

const rowOf = async (runId: string): Promise<Record<string, unknown> | undefined> =>
  (await harness.rows('select ended_at, failing_since from chat.batches where id = $1', [runId]))[0];

describe.each(batchApis)('a batch of %s', (_name, start) => {
  it('whose results are fewer than it counts is asked about again, until they are whole', async () => {
    const { tenantId, runId, finish, end } = await start({ harness, simulator });
    let whole = '';
    finish((results) => {
      whole = results;
      return results.slice(0, results.indexOf('\n') + 1);
    });
    await eventually(async () => expect((await rowOf(runId))?.['failing_since']).not.toBeNull());
    finish(() => '');
    const asked = simulator.requests.length;
    await eventually(() => expect(simulator.requests.length).toBeGreaterThan(asked + 4));
    expect(await rowOf(runId)).toMatchObject({ ended_at: null });
    finish(() => whole);
    await end();
    const run = await harness.endedRun(runId);
    expect(run).toMatchObject({ status: 'ok', usage_estimated: false });
    expect(run.input_tokens).toBeGreaterThan(0);
    await eventually(() => expect(charged(harness, tenantId)).toBe(BigInt(run.cost_pico ?? 0)));
  });

  it('whose results never are whole is settled by its estimate, and deleted at the provider', async () => {
    const { runId, finish, results, end } = await start({ harness, simulator });
    finish(() => '');
    expect(results()).toBe(1);
    await harness.rows(`update chat.batches set failing_since = now() - interval '4 days' where id = $1`, [
      runId,
    ]);
    await end();
    expect(await harness.endedRun(runId)).toMatchObject({
      ...{ status: 'error', error_type: 'batch_unreachable', usage_estimated: true },
    });
    await eventually(() => expect(results()).toBe(0));
  });

  it('is charged once for results that come several times', async () => {
    const once = await start({ harness, simulator });
    once.finish((results) => results);
    await once.end();
    const { cost_pico: cost } = await harness.endedRun(once.runId);
    simulator.reset();
    const often = await start({ harness, simulator });
    often.finish((results) => results.repeat(100));
    await often.end();
    expect(await harness.endedRun(often.runId)).toMatchObject({ status: 'ok', cost_pico: cost });
  });
});
