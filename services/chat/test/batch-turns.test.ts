import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { batchPace, begun, ended, linesOf, runOf, sdkFor, uploaded } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';

/** Work at a provider beside one that hangs, and of a tenant beside one with much of it. */

let well: ProviderSimulator;
let hanging: ProviderSimulator;
let harness: ChatHarness;
beforeAll(async () => {
  [well, hanging] = [await startProviderSimulator(), await startProviderSimulator()];
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  harness = await ChatHarness.start(
    { batchPace },
    {
      providers: [
        { kind: 'openai', name: 'well', base_url: well.baseUrl },
        { kind: 'openai', name: 'hanging', base_url: hanging.baseUrl },
      ],
      models: [
        { id: 'priced', provider: 'well', price },
        { id: 'stuck', provider: 'hanging', price },
      ],
      embeddings: undefined,
    },
  );
});
afterEach(async () => {
  for (const table of ['files', 'batches']) await harness.rows(`delete from chat.${table}`);
  well.reset();
  hanging.reset();
});
afterAll(async () => {
  await hanging.close();
  await harness.stop();
  await well.close();
});

const never = new Promise<never>(() => undefined);

/** Files that a tenant has deleted, and that the provider still has. */
async function hiddenFiles(tenantId: string, provider: string, count: number, first = 1): Promise<void> {
  await harness.rows(
    `insert into chat.files (id, tenant_id, purpose, provider, provider_file_id, content, expires_at, deleted_at, due_at)
     select gen_random_uuid(), $1, 'batch', $2, 'file-' || n, '', now() + interval '1 day', now(), now() - interval '1 h'
     from generate_series($3::int, $4::int) n`,
    [tenantId, provider, first, first + count - 1],
  );
}

/** Uploads a file and deletes it. Resolves once its row is gone. */
async function deleted(tenantId: string): Promise<void> {
  const client = sdkFor(harness, { tenantId });
  const { id } = await uploaded(client, linesOf([{ id: 'a' }]));
  await client.files.delete(id);
  await eventually(async () =>
    expect(await harness.rows('select 1 from chat.files where tenant_id = $1', [tenantId])).toEqual([]),
  );
}

it('a deletion without an answer gives its turn to another tenant after 10 s', async () => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const shorter = jest
    .spyOn(AbortSignal, 'timeout')
    .mockImplementation((ms) => timeout(ms === 10_000 ? 100 : ms));
  try {
    hanging.batches.answersAfter = (name) => (name.startsWith('DELETE') ? never : null);
    for (let n = 1; n <= 6; n += 1) {
      hanging.batches.files.set(`file-${n}`, { object: { id: `file-${n}` }, content: '' });
      await hiddenFiles(newId(), 'hanging', 1, n);
    }
    const tried = () => harness.rows('select 1 from chat.files where tries > 0');
    await eventually(async () => expect(await tried()).toHaveLength(6), 15_000);
  } finally {
    shorter.mockRestore();
  }
});

it('deletions at a provider that hangs hold up none at another', async () => {
  hanging.batches.answersAfter = (name) => (name.startsWith('DELETE') ? never : null);
  for (let n = 0; n < 10; n += 1) await hiddenFiles(newId(), 'hanging', 3);
  for (const id of ['file-1', 'file-2', 'file-3'])
    hanging.batches.files.set(id, { object: { id }, content: '' });
  await deleted(newId());
});

it('deletions of a tenant with thousands of files hold up no other tenant', async () => {
  well.batches.answersAfter = (name) => (name.startsWith('DELETE') ? sleep(100) : null);
  const large = newId();
  await hiddenFiles(large, 'well', 2_000);
  await deleted(newId());
  const [left] = await harness.rows('select count(*)::int as count from chat.files where tenant_id = $1', [
    large,
  ]);
  expect(left?.['count']).toBeGreaterThan(100);
});

it('batches at a provider that hangs hold up none at another, of the same tenant neither', async () => {
  const tenants = Array.from({ length: 6 }, () => newId());
  const stuck = linesOf([{ id: 'a', body: { model: 'stuck' } }]);
  hanging.batches.answersAfter = (name) => (name === 'GET batches/id' ? never : null);
  for (const tenantId of tenants) await begun(sdkFor(harness, { tenantId }), stuck);
  const leased = () => harness.rows(`select 1 from chat.batches where lease_id is not null`);
  await eventually(async () => expect((await leased()).length).toBeGreaterThanOrEqual(4));
  for (const tenantId of [newId(), ...tenants.slice(0, 2)]) {
    const client = sdkFor(harness, { tenantId });
    const { id } = await begun(client, linesOf([{ id: 'a' }]));
    const startedAt = performance.now();
    expect((await ended(client, id)).status).toBe('completed');
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(await harness.endedRun(runOf(id))).toMatchObject({ status: 'ok' });
  }
});
