import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { sealProviderKey } from '@gatehouse/secrets/provider-key';
import { eventually } from '@gatehouse/test/eventually';
import {
  batchPace,
  begun,
  charged,
  ended,
  linesOf,
  refusal,
  runOf,
  sdkFor,
  uploaded,
} from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import { KeyedAccounts } from './keyed-accounts.ts';

/** Files and batches by the key that has them at the provider: one of a pool, or the tenant's own. */

const keyA = 'sk-account-a';
const keyB = 'sk-account-b';
const keyC = 'sk-account-c';

let provider: KeyedAccounts;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await KeyedAccounts.start(keyA, keyB, keyC);
  harness = await ChatHarness.start(
    { batchPace },
    {
      providers: [
        {
          kind: 'openai',
          name: 'pool',
          base_url: provider.baseUrl,
          keys: [{ env: 'KEY_A' }, { env: 'KEY_B' }, { env: 'KEY_C' }],
        },
      ],
      models: [{ id: 'priced', provider: 'pool', price: { input_per_mtok: '1', output_per_mtok: '2' } }],
      embeddings: undefined,
    },
    { KEY_A: keyA, KEY_B: keyB, KEY_C: keyC },
  );
});
beforeEach(() => {
  provider.calls.length = 0;
  provider.refusals.clear();
});
afterAll(async () => {
  await harness.stop();
  await provider.stop();
});

/** The calls of a key. */
const callsOf = (key: string): string[] => provider.calls.filter((call) => call.startsWith(key));

const platformCalls = (): string[] => [keyA, keyB, keyC].flatMap(callsOf);

/** A tenant with a key of its own, which has an account at the provider. */
async function tenantWithKey() {
  const [tenantId, id] = [newId(), newId()];
  const text = `sk-own-${id}`;
  const account = await provider.open(text);
  const ring = KeyRing.parse(harness.identity.keyRing);
  const sealed = sealProviderKey(ring, { tenantId, id }, text);
  const providerKeys = [{ id, provider: 'pool', models: [], userId: undefined, sealed }];
  harness.settings.set(tenantId, { providerKeys, limited: [Resource.BUDGET] });
  return { tenantId, text, account };
}

describe('keys of a pool', () => {
  it('keep what was uploaded with them: each file, its batch and its results stay with one', async () => {
    const used = new Set<string>();
    // Each tenant has one of three by its id: 60 in a row miss one of them once in 10^10.
    for (let n = 0; n < 60 && used.size < 3; n += 1) {
      provider.calls.length = 0;
      const client = sdkFor(harness, { tenantId: newId() });
      const { id, input_file_id: fileId } = await begun(client, linesOf([{ id: 'a' }]));
      const done = await ended(client, id);
      await client.files.content(fileId);
      await client.files.content(done.output_file_id ?? '');
      const keys = new Set(provider.calls.map((call) => call.split(' ')[0] ?? ''));
      expect(keys.size).toBe(1);
      for (const key of keys) used.add(key);
    }
    expect(used).toEqual(new Set([keyA, keyB, keyC]));
  });

  // Each refuses another key, since refused keys rest.
  it.each([
    [429, keyA],
    [401, keyB],
  ])('refused with %i cost no upload an error while another is well', async (status, refused) => {
    provider.refusals.set(refused, status);
    for (let n = 0; n < 12; n += 1) {
      const client = sdkFor(harness, { tenantId: newId() });
      await uploaded(client, linesOf([{ id: 'a' }]));
    }
    const calls = callsOf(refused);
    expect(calls).not.toEqual([]);
    // No file was sent in vain.
    expect(calls.filter((call) => call.includes('POST'))).toEqual([]);
  });
});

it('a provider without files is named so, whichever key is tried', async () => {
  for (const key of [keyA, keyB, keyC]) provider.refusals.set(key, 404);
  const client = sdkFor(harness, { tenantId: newId() });
  expect(await refusal(uploaded(client, linesOf([{ id: 'a' }])))).toMatchObject({
    ...{ status: 400, code: 'unsupported_parameter', param: 'model' },
  });
});

describe("a tenant's own key", () => {
  it('has the files and the batches of its tenant, whose budgets count them not', async () => {
    const { tenantId, text } = await tenantWithKey();
    const client = sdkFor(harness, { tenantId });
    const batch = await begun(client, linesOf([{ id: 'a' }]));
    const done = await ended(client, batch.id);
    await client.files.content(done.output_file_id ?? '');
    expect(new Set(provider.calls.map((call) => call.split(' ')[0]))).toEqual(new Set([text]));
    const run = await harness.endedRun(runOf(batch.id));
    expect(run).toMatchObject({ own_key: true, status: 'ok', priced: true });
    expect(run.cost_pico).not.toBe('0');
    expect(charged(harness, tenantId)).toBe(0n);
    // Everything that is stored is without the key.
    for (const table of ['files', 'batches', 'outbox'])
      expect(JSON.stringify(await harness.rows(`select * from chat.${table}`))).not.toContain(text);
  });

  it('that the provider refuses is named so, and the platform pays nothing in its place', async () => {
    const { tenantId, text } = await tenantWithKey();
    const client = sdkFor(harness, { tenantId });
    const { id } = await uploaded(client, linesOf([{ id: 'a' }]));
    provider.refusals.set(text, 401);
    const failing = { status: 502, code: 'provider_key_failing' };
    const asked = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
    expect(await refusal(client.batches.create(asked))).toMatchObject(failing);
    expect(await harness.rows('select 1 from chat.batches where tenant_id = $1', [tenantId])).toEqual([]);
    expect(await refusal(client.files.content(id))).toMatchObject(failing);
    expect(await refusal(uploaded(client, linesOf([{ id: 'a' }])))).toMatchObject(failing);
    expect(platformCalls()).toEqual([]);
    await eventually(() => expect(harness.keyUses.uses).toContainEqual({ id: text.slice(7), refused: true }));
  });

  it('is in no description and no result, should the provider repeat it', async () => {
    const { tenantId, text, account } = await tenantWithKey();
    account.batches.held = true;
    const client = sdkFor(harness, { tenantId });
    const batch = await begun(client, linesOf([{ id: 'a', body: { temperature: 99 } }]));
    account.batches.finish('completed');
    for (const file of account.batches.files.values())
      file.content = file.content.replace('Too warm.', `not with ${text}`);
    for (const described of account.batches.batches.values()) described['note'] = `made with ${text}`;
    const done = await ended(client, batch.id);
    expect(done).toMatchObject({ note: 'made with [key]' });
    const errors = await (await client.files.content(done.error_file_id ?? '')).text();
    expect(errors).toContain('not with [key]');
  });

  it('that was deleted leaves its files and batches to no other key', async () => {
    const { tenantId } = await tenantWithKey();
    const client = sdkFor(harness, { tenantId });
    const { id } = await uploaded(client, linesOf([{ id: 'a' }]));
    harness.settings.set(tenantId, {});
    provider.calls.length = 0;
    await eventually(async () =>
      expect(await refusal(client.files.content(id))).toMatchObject({
        ...{ status: 502, code: 'provider_authentication' },
      }),
    );
    expect(platformCalls()).toEqual([]);
  });
});
