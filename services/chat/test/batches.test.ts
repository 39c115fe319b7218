import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { batchPace, begun, ended, linesOf, refusal, runOf, sdkFor, uploaded } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import { testCatalogue } from './test-catalogue.ts';

/** Files and batches of OpenAI's API, with its SDK. */

let harness: ChatHarness;
beforeAll(async () => {
  const { models } = await testCatalogue('http://127.0.0.1/v1', {});
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  const responding = { id: 'responding', provider: 'simulator', api: 'responses', price };
  harness = await ChatHarness.start({ batchPace }, { models: [...models, responding] });
});
afterEach(() => harness.simulator.reset());
afterAll(() => harness.stop());

/** A line with a request of the responses API. */
const response = (body: Record<string, unknown> = {}) => ({
  ...{ id: 'a', url: '/v1/responses' },
  body: { model: 'responding', messages: undefined, input: 'say a', ...body },
});

const sdk = (principal: Partial<Principal>): OpenAI => sdkFor(harness, principal);

describe('a batch', () => {
  it('goes from the upload to its results with the SDK, under ids of the gateway alone', async () => {
    const client = sdk({ tenantId: newId() });
    const file = await uploaded(client, linesOf([{ id: 'a' }, { id: 'b', body: { max_tokens: 50 } }]));
    expect(file).toMatchObject({ object: 'file', purpose: 'batch', filename: 'requests.jsonl' });
    expect(file.id).toMatch(/^file-[0-9a-f]{32}$/);
    const batch = await client.batches.create({
      ...{ input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' },
      metadata: { night: 'yes' },
    });
    expect(batch).toMatchObject({ object: 'batch', input_file_id: file.id, metadata: { night: 'yes' } });
    expect(batch.id).toMatch(/^batch_[0-9a-f]{32}$/);
    const done = await ended(client, batch.id);
    expect(done).toMatchObject({
      status: 'completed',
      request_counts: { total: 2, completed: 2, failed: 0 },
    });
    const results = await (await client.files.content(done.output_file_id ?? '')).text();
    const answers = results
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { custom_id: string });
    expect(answers.map(({ custom_id: id }) => id)).toEqual(['a', 'b']);
    const listed = [];
    for await (const each of client.files.list()) listed.push(each.id);
    expect(listed.sort()).toEqual([file.id, done.output_file_id].sort());
    const batches = [];
    for await (const each of client.batches.list({ limit: 1 })) batches.push(each.id);
    expect(batches).toEqual([batch.id]);
  });

  it('is one run with the usage of all its requests, at half of the price', async () => {
    const tenantId = newId();
    const client = sdk({ tenantId, userId: 'ann' });
    const batch = await begun(
      client,
      linesOf([{ id: 'a' }, { id: 'b' }, { id: 'c', body: { temperature: 99 } }]),
    );
    const done = await ended(client, batch.id);
    expect(done.error_file_id).not.toBeNull();
    const run = await harness.endedRun(runOf(batch.id));
    const { input, output } = harness.simulator.batches.usage;
    expect(run).toMatchObject({
      ...{ tenant_id: tenantId, user_id: 'ann', channel: 'batch', operation: 'chat', status: 'ok' },
      ...{ request_model: 'priced', provider: 'simulator', input_tokens: input, output_tokens: output },
      // One and two USD per million tokens, halved: half and one million pico-USD per token.
      ...{ priced: true, usage_estimated: false, cost_pico: String(input * 500_000 + output * 1_000_000) },
      price_source: 'catalogue',
    });
    expect(run.spans).toHaveLength(1);
  });

  it('gets the names of the upstream, and nothing of a line but what a request has', async () => {
    const client = sdk({ tenantId: newId() });
    const line = { custom_id: 'x', method: 'POST', url: '/v1/chat/completions', extra: { model: 'other' } };
    const body = { model: 'vendor/large', messages: [{ role: 'user', content: 'hi' }], odd: 1e3 };
    await uploaded(client, JSON.stringify({ ...line, body }));
    const [file] = [...harness.simulator.batches.files.values()];
    expect(file?.content).toBe(
      `{"custom_id":"x","method":"POST","url":"/v1/chat/completions","body":${JSON.stringify({ ...body, model: 'large-upstream' })}}\n`,
    );
  });

  it('can have embeddings', async () => {
    const client = sdk({ tenantId: newId() });
    const text = linesOf([{ id: 'a', url: '/v1/embeddings', body: { model: 'embedder', input: 'a gate' } }]);
    const { id } = await uploaded(client, text);
    const batch = await client.batches.create({
      ...{ input_file_id: id, endpoint: '/v1/embeddings', completion_window: '24h' },
    });
    await ended(client, batch.id);
    expect(await harness.endedRun(runOf(batch.id))).toMatchObject({ operation: 'embeddings', status: 'ok' });
  });

  it('can have responses, which no provider stores, nor gets a thought of', async () => {
    const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
    const input = [{ role: 'user', content: 'one' }, thought, { role: 'user', content: 'two' }];
    const client = sdk({ tenantId: newId() });
    const { id } = await uploaded(client, linesOf([response(), { ...response({ input }), id: 'b' }]));
    const [file] = [...harness.simulator.batches.files.values()];
    const [first, second] = (file?.content ?? '').split('\n');
    expect(first).toContain('"store":false');
    expect(second).not.toContain('sealed');
    const batch = await client.batches.create({
      ...{ input_file_id: id, endpoint: '/v1/responses', completion_window: '24h' },
    });
    const { request_counts: counts } = await ended(client, batch.id);
    expect(counts).toEqual({ total: 2, completed: 2, failed: 0 });
    const run = await harness.endedRun(runOf(batch.id));
    expect(run).toMatchObject({
      dialect: 'responses',
      operation: 'chat',
      status: 'ok',
      usage_estimated: false,
    });
    expect(run.cost_pico).toBe(String(run.input_tokens * 500_000 + run.output_tokens * 1_000_000));
    expect(run.output_tokens).toBeGreaterThan(0);
  });

  it.each([
    ['cancelled', 'cancelled', null],
    ['expired', 'error', 'batch_expired'],
  ])('that is %s is charged for what was answered', async (status, runStatus, errorType) => {
    harness.simulator.batches.held = true;
    const client = sdk({ tenantId: newId() });
    const batch = await begun(client, linesOf([{ id: 'a' }, { id: 'b' }, { id: 'c' }]));
    if (status === 'cancelled') {
      const cancelling = await client.batches.cancel(batch.id);
      expect(cancelling).toMatchObject({ id: batch.id, status: 'cancelling' });
    }
    harness.simulator.batches.finish(status, 2);
    expect((await ended(client, batch.id)).status).toBe(status);
    const { input, output } = harness.simulator.batches.usage;
    expect(await harness.endedRun(runOf(batch.id))).toMatchObject({
      ...{ status: runStatus, error_type: errorType, input_tokens: input, output_tokens: output },
    });
    expect((await refusal(client.batches.cancel(batch.id))).status).toBe(400);
  });

  it('that has just ended at the provider can no longer be cancelled', async () => {
    harness.simulator.batches.held = true;
    const client = sdk({ tenantId: newId() });
    const batch = await begun(client, linesOf([{ id: 'a' }]));
    harness.simulator.batches.finish('completed');
    expect(await refusal(client.batches.cancel(batch.id))).toMatchObject({
      ...{ status: 400, code: 'invalid_value', param: 'batch_id' },
    });
    expect((await ended(client, batch.id)).status).toBe('completed');
  });

  it('that the provider refuses as a whole costs nothing', async () => {
    harness.simulator.batches.held = true;
    const client = sdk({ tenantId: newId() });
    const batch = await begun(client, linesOf([{ id: 'a' }]));
    harness.simulator.batches.finish('failed');
    expect(await ended(client, batch.id)).toMatchObject({ status: 'failed', output_file_id: null });
    expect(await harness.endedRun(runOf(batch.id))).toMatchObject({
      ...{ status: 'error', error_type: 'batch_failed', cost_pico: '0', input_tokens: 0 },
    });
  });
});

describe('a file', () => {
  const bad: [string, string, string][] = [
    ['of no lines', '\n', 'no lines'],
    ['with a line that is no JSON', '{"custom_id":"a"\n', 'Line 1'],
    ['with an id twice', linesOf([{ id: 'a' }, { id: 'a' }]), 'Line 2: custom_id'],
    [
      'with two models',
      linesOf([{ id: 'a' }, { id: 'b', body: { model: 'small' } }]),
      'Line 2: All requests',
    ],
    ['with another URL', linesOf([{ id: 'a', url: '/v1/completions' }]), 'Line 1: url'],
    [
      'for a model of another API',
      linesOf([response({ model: 'priced' })]),
      'Line 1: The model priced has no',
    ],
    [
      'that goes on from a response',
      linesOf([response({ previous_response_id: 'resp_1' })]),
      'Line 1: Requests',
    ],
    [
      'with an item of a response',
      linesOf([response({ input: [{ type: 'item_reference', id: 'msg_1' }] })]),
      'Line 1: Requests',
    ],
    ['with a stream', linesOf([{ id: 'a', body: { stream: true } }]), 'Line 1: Requests'],
    ['for an agent', linesOf([{ id: 'a', body: { model: 'agent:x' } }]), 'Line 1: Batches'],
    ['without messages', linesOf([{ id: 'a', body: { messages: undefined } }]), 'Line 1'],
  ];

  it.each(bad)('%s is refused, and nothing is left behind', async (_name, text, message) => {
    const client = sdk({ tenantId: newId() });
    const error = await refusal(uploaded(client, text));
    expect(error).toMatchObject({ status: 400 });
    expect(error.message).toContain(message);
    expect((await client.files.list()).data).toEqual([]);
    expect(harness.simulator.batches.files.size).toBe(0);
  });

  it('for a model that is not there, or not allowed, is refused', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { allowedModels: { ids: ['small'] } });
    const client = sdk({ tenantId });
    expect(await refusal(uploaded(client, linesOf([{ id: 'a' }])))).toMatchObject({
      ...{ status: 404, code: 'model_not_found' },
    });
  });

  it('with a further model that is not allowed in one of its lines is refused', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { allowedModels: { ids: ['large'] } });
    const lines = linesOf([{ id: 'a' }, { id: 'b', body: { models: ['vendor/large'] } }]);
    const error = await refusal(uploaded(sdk({ tenantId }), lines));
    expect(error).toMatchObject({ status: 404, code: 'model_not_found' });
  });

  it('needs its purpose, whether it comes before or behind', async () => {
    const tenantId = newId();
    const file = await toFile(Buffer.from(linesOf([{ id: 'a' }])), 'x.jsonl');
    const client = sdk({ tenantId });
    await client.files.create({ purpose: 'batch', file });
    expect(await refusal(client.files.create({ file, purpose: 'assistants' }))).toMatchObject({
      status: 400,
    });
    expect((await client.files.list()).data).toHaveLength(1);
    expect(harness.simulator.batches.files.size).toBe(1);
  });

  it('that the provider has deleted by itself is said to be gone', async () => {
    const client = sdk({ tenantId: newId() });
    const { id } = await uploaded(client, linesOf([{ id: 'a' }]));
    harness.simulator.batches.files.clear();
    const error = await refusal(client.files.content(id));
    expect(error).toMatchObject({ status: 404, code: 'provider_not_found' });
    expect(error.message).toContain('no longer has it');
  });

  it('is deleted at the provider, too', async () => {
    const client = sdk({ tenantId: newId() });
    const { id } = await uploaded(client, linesOf([{ id: 'a' }]));
    expect(await client.files.delete(id)).toEqual({ id, object: 'file', deleted: true });
    expect(await refusal(client.files.retrieve(id))).toMatchObject({ status: 404, code: 'not_found' });
    await eventually(() => expect(harness.simulator.batches.files.size).toBe(0));
    await eventually(async () =>
      expect(await harness.rows('select 1 from chat.files where deleted_at is not null')).toEqual([]),
    );
  });
});

describe('another tenant, and another user,', () => {
  it('sees neither files nor batches', async () => {
    const tenantId = newId();
    const owner = sdk({ tenantId, userId: 'ann' });
    const batch = await begun(owner, linesOf([{ id: 'a' }]));
    const done = await ended(owner, batch.id);
    for (const principal of [
      { tenantId: newId(), userId: 'ann' },
      { tenantId, userId: 'bob' },
      { tenantId },
    ]) {
      const other = sdk(principal);
      expect((await other.files.list()).data).toEqual([]);
      expect((await other.batches.list()).data).toEqual([]);
      for (const fileId of [batch.input_file_id, done.output_file_id ?? '']) {
        expect((await refusal(other.files.retrieve(fileId))).status).toBe(404);
        expect((await refusal(other.files.content(fileId))).status).toBe(404);
        expect((await refusal(other.files.delete(fileId))).status).toBe(404);
      }
      expect((await refusal(other.batches.retrieve(batch.id))).status).toBe(404);
      expect((await refusal(other.batches.cancel(batch.id))).status).toBe(404);
      const input = { input_file_id: batch.input_file_id, endpoint: '/v1/chat/completions' as const };
      expect((await refusal(other.batches.create({ ...input, completion_window: '24h' }))).status).toBe(400);
    }
    expect((await owner.files.list()).data).toHaveLength(2);
  });
});
