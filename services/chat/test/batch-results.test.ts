import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { batchPace, begun, charged, ended, linesOf, runOf, sdkFor } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import { anthropicFor, endedBatch, messageRequests, messageRunOf, withClaude } from './message-batch-client.ts';

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

interface Started {
  tenantId: string;
  runId: string;
  /** Replaces the results of a batch that the provider has ended. */
  replace: (change: (results: string) => string) => void;
  end: () => Promise<unknown>;
}

async function startedMessages(): Promise<Started> {
  simulator.messageBatches.held = true;
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
  const client = anthropicFor(harness, { tenantId });
  const { id } = await client.messages.batches.create({ requests: messageRequests(['a', 'b']) });
  const replace = (change: (results: string) => string): void => {
    simulator.messageBatches.finish();
    for (const batch of simulator.messageBatches.batches.values()) batch.results = change(batch.results);
  };
  return { tenantId, replace, runId: messageRunOf(id), end: () => endedBatch(client, id) };
}

async function startedCompletions(): Promise<Started> {
  simulator.batches.held = true;
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.BUDGET] });
  const client = sdkFor(harness, { tenantId });
  const { id } = await begun(client, linesOf([{ id: 'a' }, { id: 'b' }]));
  const replace = (change: (results: string) => string): void => {
    simulator.batches.finish('completed');
    for (const file of simulator.batches.files.values())
      if (file.object.id.startsWith('file-output')) file.content = change(file.content);
  };
  return { tenantId, replace, runId: runOf(id), end: () => ended(client, id) };
}

const apis = [
  ['messages', startedMessages],
  ['completions', startedCompletions],
] as const;

const row = async (runId: string): Promise<Record<string, unknown> | undefined> =>
  (await harness.rows('select ended_at, failing_since from chat.batches where id = $1', [runId]))[0];

describe.each(apis)('a batch of %s', (_name, start) => {
  it('whose results are fewer than it counts is asked about again, until they are whole', async () => {
    const { tenantId, runId, replace, end } = await start();
    let whole = '';
    replace((results) => {
      whole = results;
      return results.slice(0, results.indexOf('\n') + 1);
    });
    await eventually(async () => expect((await row(runId))?.['failing_since']).not.toBeNull(), 10_000);
    replace(() => '');
    const asked = simulator.requests.length;
    await eventually(() => expect(simulator.requests.length).toBeGreaterThan(asked + 4), 10_000);
    expect(await row(runId)).toMatchObject({ ended_at: null });
    replace(() => whole);
    await end();
    const run = await harness.endedRun(runId);
    expect(run).toMatchObject({ status: 'ok', usage_estimated: false });
    expect(run.input_tokens).toBeGreaterThan(0);
    await eventually(() => expect(charged(harness, tenantId)).toBe(BigInt(run.cost_pico ?? 0)), 10_000);
  });

  it('whose results never are whole is settled by its estimate', async () => {
    const { runId, replace, end } = await start();
    replace(() => '');
    await harness.rows(`update chat.batches set failing_since = now() - interval '4 days' where id = $1`, [
      runId,
    ]);
    await end();
    expect(await harness.endedRun(runId)).toMatchObject({
      ...{ status: 'error', error_type: 'batch_unreachable', usage_estimated: true },
    });
  });

  it('is charged once for results that come several times', async () => {
    const once = await start();
    once.replace((results) => results);
    await once.end();
    const { cost_pico: cost } = await harness.endedRun(once.runId);
    simulator.reset();
    const often = await start();
    often.replace((results) => results.repeat(100));
    await often.end();
    expect(await harness.endedRun(often.runId)).toMatchObject({ status: 'ok', cost_pico: cost });
  });
});
