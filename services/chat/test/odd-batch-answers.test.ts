import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { batchApis, loseBatch } from './batch-apis.ts';
import { batchPace } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import { withClaude } from './message-batch-client.ts';

/** Answers about batches that a provider gives with status 200, and that say nothing of them. */

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

const failing = async (runId: string): Promise<unknown> =>
  (await harness.rows('select failing_since from chat.batches where id = $1', [runId]))[0]?.['failing_since'];

/** Waits until answers to some more requests have come. */
async function someMore(): Promise<void> {
  const asked = simulator.requests.length;
  await eventually(() => expect(simulator.requests.length).toBeGreaterThan(asked + 3), 10_000);
}

describe.each(batchApis)('a batch of %s', (_name, start) => {
  it('is still described as before when its provider describes nothing', async () => {
    const { runId, there, shown, finish, end } = await start({ harness, simulator });
    const before = await shown();
    there.answersInstead = () => ({ message: 'maintenance' });
    await eventually(async () => expect(await failing(runId)).toEqual(expect.anything()), 10_000);
    await someMore();
    expect(await shown()).toMatchObject({ id: (before as { id: string }).id });
    expect(await shown()).not.toHaveProperty('message');
    there.answersInstead = () => null;
    finish((results) => results);
    await end();
    expect(await harness.endedRun(runId)).toMatchObject({ status: 'ok' });
  });

  it.each([
    ['no list', {}],
    ['a list of something else', { data: [{ id: 'x', object: 'y' }], has_more: false }],
    ['a list without ids', { data: [{}] }],
  ])('whose answer was lost is not given up for %s', async (_list, answer) => {
    const { runId, there, finish, end } = await start({ harness, simulator });
    finish((results) => results);
    there.answersInstead = () => answer;
    await loseBatch(harness, runId);
    await eventually(async () => expect(await failing(runId)).toEqual(expect.anything()), 10_000);
    await someMore();
    expect(await failing(runId)).toEqual(expect.anything());
    there.answersInstead = () => null;
    await end();
    expect(await harness.endedRun(runId)).toMatchObject({ status: 'ok' });
  });
});
