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
  await eventually(() => expect(simulator.requests.length).toBeGreaterThan(asked + 3));
}

describe.each(batchApis)('a batch of %s', (_name, start) => {
  it('is still described as before when its provider describes nothing', async () => {
    const { runId, there, shown, finish, end } = await start({ harness, simulator });
    const before = await shown();
    there.answersInstead = () => ({ message: 'maintenance' });
    await eventually(async () => expect(await failing(runId)).toEqual(expect.anything()));
    await someMore();
    expect(await shown()).toMatchObject({ id: (before as { id: string }).id });
    expect(await shown()).not.toHaveProperty('message');
    there.answersInstead = () => null;
    finish((results) => results);
    await end();
    expect(await harness.endedRun(runId)).toMatchObject({ status: 'ok' });
  });

  it('that is given up is cancelled, though its provider describes nothing', async () => {
    const { runId, there, end } = await start({ harness, simulator });
    there.answersInstead = (name) => (name.startsWith('GET') ? {} : null);
    await harness.rows(`update chat.batches set failing_since = now() - interval '4 days' where id = $1`, [
      runId,
    ]);
    await end();
    expect(JSON.stringify([...there.batches.values()])).toMatch(/"cancell?ing"/);
  });

  it('that was found is asked about for as long as any other', async () => {
    const { runId, there, finish } = await start({ harness, simulator });
    finish((results) => results);
    there.answersInstead = (name) => (name === 'GET batches/id' ? {} : null);
    await loseBatch(harness, runId, '4 days');
    const row = async (): Promise<Record<string, unknown> | undefined> =>
      (await harness.rows('select provider_batch_id, ended_at from chat.batches where id = $1', [runId]))[0];
    await eventually(async () => expect((await row())?.['provider_batch_id']).toEqual(expect.anything()));
    await someMore();
    expect(await row()).toMatchObject({ ended_at: null });
  });

  it('stays cancelled for its client when an older answer about it comes late', async () => {
    const { there, shown, cancel } = await start({ harness, simulator });
    const [late, never] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    let asked = 0;
    there.answersAfter = (name) => {
      if (name !== 'GET batches/id') return null;
      asked += 1;
      return asked === 1 ? late.promise : never.promise;
    };
    await eventually(() => expect(asked).toBe(1));
    await cancel();
    late.resolve(undefined);
    await eventually(() => expect(asked).toBe(2));
    expect(JSON.stringify(await shown())).toMatch(/"cancell?ing"/);
    never.resolve(undefined);
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
    await eventually(async () => expect(await failing(runId)).toEqual(expect.anything()));
    await someMore();
    expect(await failing(runId)).toEqual(expect.anything());
    there.answersInstead = () => null;
    await end();
    expect(await harness.endedRun(runId)).toMatchObject({ status: 'ok' });
  });
});
