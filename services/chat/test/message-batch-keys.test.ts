import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { sealProviderKey } from '@gatehouse/secrets/provider-key';
import { eventually } from '@gatehouse/test/eventually';
import { batchPace, charged } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import { KeyedAccounts } from './keyed-accounts.ts';
import {
  anthropicFor,
  anthropicRefusal,
  endedBatch,
  messageRequests,
  messageRunOf,
  resultsOf,
} from './message-batch-client.ts';

/** Batches of messages by the key that has them at the provider: one of a pool, or the tenant's own. */

const keyA = 'sk-account-a';
const keyB = 'sk-account-b';

let provider: KeyedAccounts;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await KeyedAccounts.start(keyA, keyB);
  harness = await ChatHarness.start(
    { batchPace },
    {
      providers: [
        {
          ...{ kind: 'anthropic', name: 'pool', base_url: provider.url },
          keys: [{ env: 'KEY_A' }, { env: 'KEY_B' }],
        },
      ],
      models: [{ id: 'claude', provider: 'pool', price: { input_per_mtok: '1', output_per_mtok: '2' } }],
      embeddings: undefined,
    },
    { KEY_A: keyA, KEY_B: keyB },
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

const keysUsed = (): Set<string> => new Set(provider.calls.map((call) => call.split(' ')[0] ?? ''));
const requests = messageRequests(['a', 'b']);

/** A tenant with a key of its own, which has an account at the provider. */
async function tenantWithKey() {
  const [tenantId, id] = [newId(), newId()];
  const text = `sk-own-${id}`;
  const account = await provider.open(text);
  const sealed = sealProviderKey(KeyRing.parse(harness.identity.keyRing), { tenantId, id }, text);
  const providerKeys = [{ id, provider: 'pool', models: [], userId: undefined, sealed }];
  harness.settings.set(tenantId, { providerKeys, limited: [Resource.BUDGET] });
  return { tenantId, text, account };
}

describe('keys of a pool', () => {
  it('keep what was started with them: each batch and its results stay with one', async () => {
    const used = new Set<string>();
    for (let n = 0; n < 12; n += 1) {
      provider.calls.length = 0;
      const client = anthropicFor(harness, { tenantId: newId() });
      const { id } = await client.messages.batches.create({ requests });
      await endedBatch(client, id);
      await resultsOf(client, id);
      const [key = '', ...others] = keysUsed();
      expect(others).toEqual([]);
      used.add(key);
    }
    expect(used).toEqual(new Set([keyA, keyB]));
  });

  it('that are refused cost no start an error while another is well, and get no requests', async () => {
    provider.refusals.set(keyA, 401);
    for (let n = 0; n < 6; n += 1) {
      const client = anthropicFor(harness, { tenantId: newId() });
      const { id } = await client.messages.batches.create({ requests });
      await endedBatch(client, id);
    }
    const refused = provider.calls.filter((call) => call.startsWith(keyA));
    expect(refused.filter((call) => call.includes('POST'))).toEqual([]);
  });
});

it('a provider without batches is named so, whichever key is tried', async () => {
  for (const key of [keyA, keyB]) provider.refusals.set(key, 404);
  const client = anthropicFor(harness, { tenantId: newId() });
  expect(await anthropicRefusal(client.messages.batches.create({ requests }))).toMatchObject({
    ...{ status: 400, code: 'unsupported_parameter' },
    message: expect.stringContaining('The provider of the model claude has no batches.'),
  });
});

describe("a tenant's own key", () => {
  it('has the batches of its tenant, whose budgets count them not', async () => {
    const { tenantId, text } = await tenantWithKey();
    const client = anthropicFor(harness, { tenantId });
    const { id } = await client.messages.batches.create({ requests });
    await endedBatch(client, id);
    await resultsOf(client, id);
    expect(keysUsed()).toEqual(new Set([text]));
    const run = await harness.endedRun(messageRunOf(id));
    expect(run).toMatchObject({ own_key: true, status: 'ok', priced: true });
    expect(charged(harness, tenantId)).toBe(0n);
    for (const table of ['files', 'batches', 'outbox'])
      expect(JSON.stringify(await harness.rows(`select * from chat.${table}`))).not.toContain(text);
  });

  it('that the provider refuses is named so, and the platform pays nothing in its place', async () => {
    const { tenantId, text } = await tenantWithKey();
    const client = anthropicFor(harness, { tenantId });
    const { id } = await client.messages.batches.create({ requests });
    await endedBatch(client, id);
    provider.refusals.set(text, 401);
    const failing = { status: 502, code: 'provider_key_failing' };
    expect(await anthropicRefusal(client.messages.batches.create({ requests }))).toMatchObject(failing);
    expect(await anthropicRefusal(resultsOf(client, id))).toMatchObject(failing);
    expect(keysUsed()).toEqual(new Set([text]));
    const open = 'select 1 from chat.batches where tenant_id = $1 and ended_at is null';
    expect(await harness.rows(open, [tenantId])).toEqual([]);
  });

  it('is in no description and no result, should the provider repeat it', async () => {
    const { tenantId, text, account } = await tenantWithKey();
    account.messageBatches.held = true;
    const client = anthropicFor(harness, { tenantId });
    const { id } = await client.messages.batches.create({ requests });
    account.messageBatches.finish('expired', 1);
    const [batch] = account.messageBatches.batches.values();
    if (batch === undefined) throw new Error('the account has the batch');
    const [answered = ''] = batch.results.split('\n');
    const error = { type: 'authentication_error', message: `not with ${text}` };
    const errored = { custom_id: 'b', result: { type: 'errored', error: { type: 'error', error } } };
    batch.results = `${answered}\n${JSON.stringify(errored).replaceAll('-', String.raw`\u002d`)}\n`;
    batch.object['note'] = `made with ${text}`;
    const done = await endedBatch(client, id);
    expect(done).toMatchObject({ note: 'made with [key]' });
    const results = await resultsOf(client, id);
    expect(results.map(({ result }) => result.type)).toEqual(['succeeded', 'errored']);
    expect(JSON.stringify(results[1])).toContain('not with [key]');
  });

  it('that was deleted leaves its batches to no other key', async () => {
    const { tenantId, text } = await tenantWithKey();
    const client = anthropicFor(harness, { tenantId });
    const { id } = await client.messages.batches.create({ requests });
    await endedBatch(client, id);
    harness.settings.set(tenantId, {});
    await eventually(async () =>
      expect(await anthropicRefusal(resultsOf(client, id))).toMatchObject({
        ...{ status: 502, code: 'provider_authentication' },
      }),
    );
    expect(keysUsed()).toEqual(new Set([text]));
  });
});
