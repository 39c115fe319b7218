import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type Anthropic from '@anthropic-ai/sdk';
import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { batchPace, sdkFor } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import {
  anthropicFor,
  anthropicRefusal,
  endedBatch,
  messageRequests,
  messageRunOf,
  resultsOf,
  usageOf,
  withClaude,
} from './message-batch-client.ts';

/** Batches of messages of Anthropic's API, with its SDK. */

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

const sdk = (principal: Partial<Principal>): Anthropic => anthropicFor(harness, principal);

describe('a batch of messages', () => {
  it('goes from its requests to its results with the SDK, under an id of the gateway alone', async () => {
    const client = sdk({ tenantId: newId() });
    const begun = await client.messages.batches.create({ requests: messageRequests(['a', 'b', 'c']) });
    expect(begun).toMatchObject({
      ...{ type: 'message_batch', processing_status: 'in_progress', results_url: null },
      request_counts: { processing: 3, succeeded: 0 },
    });
    expect(begun.id).toMatch(/^msgbatch_[0-9a-f]{32}$/);
    const done = await endedBatch(client, begun.id);
    expect(done).toMatchObject({
      ...{ id: begun.id, request_counts: { processing: 0, succeeded: 3 } },
      results_url: `/v1/messages/batches/${begun.id}/results`,
    });
    const results = await resultsOf(client, begun.id);
    expect(results.map(({ custom_id: id, result }) => [id, result.type])).toEqual([
      ['a', 'succeeded'],
      ['b', 'succeeded'],
      ['c', 'succeeded'],
    ]);
    expect(JSON.stringify(results)).not.toContain('msgbatch_');
    const other = await client.messages.batches.create({ requests: messageRequests(['a']) });
    const third = await client.messages.batches.create({ requests: messageRequests(['a']) });
    const listed = [];
    for await (const { id } of client.messages.batches.list({ limit: 1 })) listed.push(id);
    expect(listed).toEqual([third.id, other.id, begun.id]);
    const before = await client.messages.batches.list({ before_id: begun.id, limit: 1 });
    expect([before.data.map(({ id }) => id), before.has_more]).toEqual([[other.id], true]);
    expect(await client.messages.batches.delete(begun.id)).toEqual({
      ...{ id: begun.id, type: 'message_batch_deleted' },
    });
    expect(await anthropicRefusal(client.messages.batches.retrieve(begun.id))).toMatchObject({ status: 404 });
    await eventually(() => expect([...simulator.messageBatches.batches.keys()]).toHaveLength(2));
    await eventually(async () =>
      expect(
        await harness.rows('select 1 from chat.batches where id = $1', [messageRunOf(begun.id)]),
      ).toEqual([]),
    );
  });

  it('is one run with the usage of all its requests, at half of the price', async () => {
    const tenantId = newId();
    const client = sdk({ tenantId, userId: 'ann' });
    // A request without a limit is one that Anthropic refuses once it comes to it.
    const wrong = messageRequests(['wrong'], { max_tokens: undefined });
    const requests = [...messageRequests(['a', 'b']), ...wrong];
    const { id } = await client.messages.batches.create({ requests });
    await endedBatch(client, id);
    const results = await resultsOf(client, id);
    expect(results.map(({ result }) => result.type)).toEqual(['succeeded', 'succeeded', 'errored']);
    const { input, output } = usageOf(results);
    const run = await harness.endedRun(messageRunOf(id));
    expect(run).toMatchObject({
      ...{ tenant_id: tenantId, user_id: 'ann', channel: 'batch', operation: 'chat', dialect: 'messages' },
      ...{ status: 'ok', request_model: 'claude', provider: 'anthropic', response_model: 'claude-upstream' },
      ...{ input_tokens: input, output_tokens: output, priced: true, usage_estimated: false },
      cost_pico: String(input * 500_000 + output * 1_000_000),
    });
    expect(run.spans).toHaveLength(1);
  });

  it('reaches its provider with the names of the upstream, and the headers of its client', async () => {
    const client = sdk({ tenantId: newId() });
    const requests = messageRequests(['a', 'b'], { brand_new: { deep: [1e3] } });
    await client.messages.batches.create({ requests }, { headers: { 'anthropic-beta': 'new-2027-01-01' } });
    const sent = simulator.requests.find(({ method }) => method === 'POST');
    expect(sent?.headers).toMatchObject({
      ...{ 'anthropic-beta': 'new-2027-01-01', 'anthropic-version': '2026-10-21', 'x-api-key': 'matched' },
    });
    const [first, second] = (sent?.body as { requests: unknown[] }).requests;
    const params = { ...requests[0]?.params, model: 'claude-upstream' };
    // The first has the name of the batch, by which it is found if the answer is lost.
    expect(first).toEqual({ custom_id: expect.stringMatching(/^msgbatch_[0-9a-f]{32}$/), params });
    expect(second).toMatchObject({ custom_id: 'b', params: { model: 'claude-upstream' } });
    expect(sent?.raw_body).toContain('"brand_new":{"deep":[1000]}');
  });

  it.each([
    ['no requests', {}, 'missing_required_parameter', 'requests'],
    ['an empty list', { requests: [] }, 'invalid_value', 'requests'],
    ['no list', { requests: {} }, 'invalid_type', 'requests'],
    ['a member that it does not have', { requests: [], more: 1 }, 'unknown_parameter', 'more'],
    [
      'a request without params',
      { requests: [{ custom_id: 'a' }] },
      'missing_required_parameter',
      'requests.0',
    ],
    ['a name with spaces', { requests: [{ custom_id: 'a b', params: {} }] }, 'invalid_value', 'custom_id'],
    ['one name twice', { requests: messageRequests(['a', 'a']) }, 'invalid_value', 'requests.1'],
    ['a stream', { requests: messageRequests(['a'], { stream: true }) }, 'unsupported_parameter', 'stream'],
    [
      'an agent',
      { requests: messageRequests(['a'], { model: 'agent:poet' }) },
      'unsupported_parameter',
      'model',
    ],
    [
      'a model of another API',
      { requests: messageRequests(['a'], { model: 'priced' }) },
      'unsupported_parameter',
      'model',
    ],
    ['an unknown model', { requests: messageRequests(['a'], { model: 'none' }) }, 'model_not_found', 'none'],
    [
      'a thread',
      { requests: messageRequests(['a'], { thread: { type: 'create' } }) },
      'unsupported_parameter',
      'thread',
    ],
    [
      'two models',
      { requests: [...messageRequests(['a']), ...messageRequests(['b'], { model: 'other-claude' })] },
      ...(['invalid_value', 'requests.1.params'] as const),
    ],
    [
      'no messages',
      { requests: messageRequests(['a'], { messages: 'no' }) },
      'invalid_type',
      'requests.0.params',
    ],
  ])('with %s is refused, and never reaches its provider', async (_name, body, code, text) => {
    const client = sdk({ tenantId: newId() });
    const refused = await anthropicRefusal(client.messages.batches.create(body as never));
    expect(refused).toMatchObject({ code, message: expect.stringContaining(text) });
    expect([400, 404]).toContain(refused.status);
    expect(simulator.messageBatches.batches.size).toBe(0);
  });

  it('that is no JSON is refused', async () => {
    for (const body of [
      '{"requests":[{]}',
      '[',
      '{"requests":[1]}',
      '{"requests":[{"custom_id":"a","params":{"a"}}]}',
    ]) {
      const response = await harness.post('/v1/messages/batches', body, {
        headers: { 'x-gatehouse-dialect': 'messages' },
      });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        type: 'error',
        error: { type: 'invalid_request_error' },
      });
    }
  });

  it('belongs to its tenant and its user, and is none of OpenAI', async () => {
    const tenantId = newId();
    const ann = sdk({ tenantId, userId: 'ann' });
    const { id } = await ann.messages.batches.create({ requests: messageRequests(['a']) });
    await endedBatch(ann, id);
    for (const other of [sdk({ tenantId, userId: 'bob' }), sdk({ tenantId }), sdk({ tenantId: newId() })]) {
      const { batches } = other.messages;
      for (const asked of [batches.retrieve(id), batches.cancel(id), batches.delete(id)])
        expect(await anthropicRefusal(asked)).toMatchObject({ status: 404, type: 'not_found_error' });
      expect((await batches.list()).data).toEqual([]);
    }
    const results = { tenantId, userId: 'bob' };
    expect((await harness.get(`/v1/messages/batches/${id}/results`, results, 'messages')).status).toBe(404);
    const openai = sdkFor(harness, { tenantId, userId: 'ann' });
    expect((await openai.batches.list()).data).toEqual([]);
    expect((await openai.files.list()).data).toEqual([]);
    const [row] = await harness.rows('select output_file_id from chat.batches where id = $1', [
      messageRunOf(id),
    ]);
    const fileId = `file-${String(row?.['output_file_id']).replaceAll('-', '')}`;
    for (const ask of [
      () => openai.batches.retrieve(id.replace('msgbatch_', 'batch_')),
      () => openai.files.retrieve(fileId),
      () => openai.files.content(fileId),
      () => openai.files.delete(fileId),
    ])
      await expect(ask()).rejects.toMatchObject({ status: 404 });
  });

  it('is cancelled, charges what was answered, and is neither read nor deleted before its end', async () => {
    simulator.messageBatches.held = true;
    const tenantId = newId();
    const client = sdk({ tenantId });
    const { id } = await client.messages.batches.create({ requests: messageRequests(['a', 'b']) });
    const early = await harness.get(`/v1/messages/batches/${id}/results`, { tenantId }, 'messages');
    expect([early.status, await early.text()]).toEqual([400, expect.stringContaining('not ended')]);
    expect(await anthropicRefusal(client.messages.batches.delete(id))).toMatchObject({ status: 400 });
    const canceling = await client.messages.batches.cancel(id);
    expect(canceling).toMatchObject({ id, processing_status: 'canceling' });
    simulator.messageBatches.finish('canceled', 1);
    expect(await endedBatch(client, id)).toMatchObject({ request_counts: { succeeded: 1, canceled: 1 } });
    const results = await resultsOf(client, id);
    expect(results.map(({ result }) => result.type)).toEqual(['succeeded', 'canceled']);
    const run = await harness.endedRun(messageRunOf(id));
    expect(run).toMatchObject({ status: 'cancelled', input_tokens: usageOf(results).input });
    expect(await anthropicRefusal(client.messages.batches.cancel(id))).toMatchObject({ status: 400 });
  });

  it('that has ended at its provider is refused a cancellation without the id that it has there', async () => {
    simulator.messageBatches.held = true;
    const client = sdk({ tenantId: newId() });
    const { id } = await client.messages.batches.create({ requests: messageRequests(['a']) });
    // Its end is not known here yet.
    await harness.rows(`update chat.batches set due_at = now() + interval '1 hour' where id = $1`, [
      messageRunOf(id),
    ]);
    simulator.messageBatches.finish();
    const refused = await anthropicRefusal(client.messages.batches.cancel(id));
    expect(refused).toMatchObject({ status: 400, message: 'The batch has ended. (message_batch_id)' });
  });

  it('that is deleted several times at once is gone for all but one', async () => {
    const client = sdk({ tenantId: newId() });
    const { id } = await client.messages.batches.create({ requests: messageRequests(['a']) });
    await endedBatch(client, id);
    const deletion = (): Promise<number> =>
      client.messages.batches.delete(id).then(
        () => 200,
        (error: unknown) => (error as { status: number }).status,
      );
    const statuses = await Promise.all(Array.from({ length: 8 }, deletion));
    expect(statuses.toSorted()).toEqual([200, 404, 404, 404, 404, 404, 404, 404]);
  });

  it('begins no page where its id is none', async () => {
    const { batches } = sdk({ tenantId: newId() }).messages;
    for (const param of ['after_id', 'before_id'] as const)
      expect(await anthropicRefusal(batches.list({ [param]: 'msgbatch_x' }))).toMatchObject({
        ...{ status: 400, code: 'invalid_value', message: expect.stringContaining(param) },
      });
  });

  it('that its provider did not answer in time has expired', async () => {
    simulator.messageBatches.held = true;
    const client = sdk({ tenantId: newId() });
    const { id } = await client.messages.batches.create({ requests: messageRequests(['a', 'b']) });
    simulator.messageBatches.finish('expired', 0);
    await endedBatch(client, id);
    expect(await harness.endedRun(messageRunOf(id))).toMatchObject({
      ...{ status: 'error', error_type: 'batch_expired', input_tokens: 0, cost_pico: '0' },
    });
  });
});

describe('a failing provider', () => {
  it('is named in the terms of the API, and the batch never was', async () => {
    const tenantId = newId();
    const client = sdk({ tenantId });
    for (const [fault, expected] of [
      [400, 400],
      [401, 502],
      [404, 400],
      [501, 400],
      [429, 429],
      [529, 529],
    ] as const) {
      simulator.setFault({ status: fault });
      const refused = await anthropicRefusal(
        client.messages.batches.create({ requests: messageRequests(['a']) }),
      );
      expect([fault, refused.status]).toEqual([fault, expected]);
    }
    simulator.setFault(null);
    await eventually(async () =>
      expect(
        await harness.rows('select 1 from chat.batches where tenant_id = $1 and ended_at is null', [
          tenantId,
        ]),
      ).toHaveLength(1),
    );
  });
});
