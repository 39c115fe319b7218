import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Principal } from '@gatehouse/identity/principal';
import { traceContent, type TraceContent } from '@gatehouse/contract/trace-content';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTransaction } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { chat, ChatHarness, makeAgent } from './chat-harness.ts';
import { makePassage } from './memory-stand-in.ts';

const tenantId = newId();
const agent = makeAgent({
  ...{ key: 'worker', systemPrompt: 'Work.', parametersJson: '{"temperature":0.5}' },
  memory: { enabled: true, recallLimit: 3, write: false, analyser: 'simple', minScore: 0.4 },
  tools: { maxIterations: 4 },
});
const tool = {
  ...{ name: 'orders__lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' },
  ...{ serverId: newId(), serverName: 'orders', timeoutMs: 5_000, executor: 'agent', repeatable: true },
};

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
  harness.settings.set(tenantId, { contentFull: true, retentionDays: 7 });
  harness.agents.set('worker', agent);
  harness.toolLists.tools = [tool];
});
beforeEach(() => {
  harness.simulator.setFault(null);
  harness.memory.passages = [];
});
afterAll(() => harness.stop());

const reader: Partial<Principal> = { tenantId, userId: null, role: 'admin', scopes: ['analytics.read'] };
const ann: Partial<Principal> = { tenantId, userId: 'ann' };

function read(id: string | null, principal: Partial<Principal> = reader): Promise<Response> {
  return harness.get(`/v1/traces/${id ?? ''}/content`, principal);
}

/** The content of a run, once it is stored; it fits the shape of its route. */
async function contentOf(id: string | null, principal?: Partial<Principal>): Promise<TraceContent> {
  return eventually(async () => {
    const response = await read(id, principal);
    const body: unknown = await response.json();
    expect([response.status, body]).toEqual([200, expect.anything()]);
    return traceContent.parse(body);
  });
}

async function runOf(path: string, body: unknown, principal = ann, headers = {}): Promise<string | null> {
  const response = await harness.post(path, body, { principal, headers });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.anything()]);
  return response.headers.get('x-run-id');
}

/** A request to the agent in each API, with its path and the text of the answer in a content. */
const apis = {
  chat: {
    path: () => '/v1/chat/completions',
    body: { model: 'agent:worker', messages: [{ role: 'user', content: 'Where is it?' }], seed: 7 },
    messages: [{ role: 'user', content: 'Where is it?' }],
    parameters: { model: 'agent:worker', seed: 7 },
    response: { choices: [{ message: { role: 'assistant', content: expect.stringContaining('lookup') } }] },
  },
  responses: {
    path: () => '/v1/responses',
    body: { model: 'agent:worker', instructions: 'Be short.', input: 'Where is it?' },
    messages: ['Where is it?'],
    parameters: { model: 'agent:worker' },
    response: { output: [{ content: [{ text: expect.stringContaining('lookup') }] }] },
  },
  messages: {
    path: () => '/v1/messages',
    body: {
      ...{ model: 'agent:worker', max_tokens: 1_000, system: 'Be short.' },
      messages: [{ role: 'user', content: 'Where is it?' }],
    },
    messages: [{ role: 'user', content: 'Where is it?' }],
    parameters: { model: 'agent:worker', max_tokens: 1_000 },
    response: { role: 'assistant', content: [{ type: 'text', text: expect.stringContaining('lookup') }] },
  },
  gemini: {
    path: (stream: boolean) =>
      `/v1beta/models/agent%3Aworker:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: {
      systemInstruction: { parts: [{ text: 'Be short.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Where is it?' }] }],
    },
    messages: [{ role: 'user', parts: [{ text: 'Where is it?' }] }],
    parameters: {},
    response: { candidates: [{ content: { parts: [{ text: expect.stringContaining('lookup') }] } }] },
  },
} as const;

describe('the content of a run', () => {
  const cases = Object.keys(apis).flatMap((api) => [true, false].map((stream) => [api, stream] as const));

  it.each(cases)('has everything sent and received in the API %s, streamed: %s', async (name, stream) => {
    const api = apis[name as keyof typeof apis];
    harness.memory.passages = [makePassage({ path: 'orders.md', text: 'Orders are in the shop.' })];
    harness.simulator.setFault({ tool_calls: [{ name: 'orders__lookup', arguments: { q: 1 } }] });
    const body = name === 'gemini' ? api.body : { ...api.body, stream };
    const headers = { 'x-stream-events': 'tools' };
    const content = await contentOf(await runOf(api.path(stream), body, ann, headers));
    expect(content).toMatchObject({
      ...{ api: name, messages: api.messages, parameters: api.parameters, response: api.response },
      instructions: name === 'chat' ? null : expect.anything(),
      agent: {
        ...{ system_prompt: 'Work.', parameters: { temperature: 0.5 } },
        passages: [{ path: 'orders.md', text: 'Orders are in the shop.', score: expect.any(Number) }],
      },
      tool_calls: [
        {
          server: 'orders',
          name: 'lookup',
          arguments: { q: 1 },
          result: 'lookup was called',
          is_error: false,
        },
      ],
      truncated: false,
    });
    expect(JSON.stringify(content)).not.toContain('Orders are in the shop.</');
  });

  it('has no keys, and type and size in place of a file', async () => {
    const picture = `data:image/png;base64,${'iVBORw0KGgo'.repeat(1_000)}`;
    const key = `gwk_0123456789abcdef_${'a'.repeat(43)}`;
    const body = chat('What is this?', {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: picture } },
            { type: 'text', text: `My key is ${key}.` },
          ],
        },
      ],
      tools: [
        { type: 'mcp', server_label: 's', authorization: 'Bearer s3cret', headers: { 'X-Team': 's3cret' } },
      ],
    });
    const content = await contentOf(await runOf('/v1/chat/completions', body));
    expect(JSON.stringify([content.parameters, content.messages])).not.toMatch(/s3cret|gwk_|iVBOR/);
    expect(content).toMatchObject({
      messages: [
        {
          content: [{ image_url: { url: '[image/png, 8250 bytes]' } }, { text: 'My key is [removed].' }],
        },
      ],
      parameters: { tools: [{ authorization: '[removed]', headers: { 'X-Team': '[removed]' } }] },
      ...{ agent: null, tool_calls: [], truncated: false },
    });
  });

  it.each([
    ['many', 40, 50_000],
    ['large', 4, 3_000_000],
  ])('lacks the oldest of %s messages that have more than a MiB', async (_what, count, chars) => {
    const messages = Array.from({ length: count }, (_, n) => ({
      role: 'user',
      content: `${n} ${'x'.repeat(chars)}`,
    }));
    const content = await contentOf(await runOf('/v1/chat/completions', chat('', { messages })));
    expect(content.truncated).toBe(true);
    const left = content.messages as typeof messages;
    expect(left.at(-1)?.content).toMatch(new RegExp(`^${count - 1} x`));
    expect(JSON.stringify(left).length).toBeLessThan(1024 * 1024 + 100);
    if (chars < 100_000) expect(left.length).toBe(20);
  });

  it('has the beginning of a response that was cut, and none of a run without one', async () => {
    harness.simulator.setFault({ status: 500 });
    const failed = await harness.post('/v1/chat/completions', chat('hi'), { principal: ann });
    expect(failed.status).toBe(502);
    expect(await contentOf(failed.headers.get('x-run-id'))).toMatchObject({
      ...{ messages: [{ content: 'hi' }], response: null, truncated: false },
    });
    harness.simulator.setFault({ content: 'one two three four', cut_after_chunks: 3 });
    const cut = await harness.post('/v1/chat/completions', chat('hi', { stream: true }), { principal: ann });
    await cut.text();
    expect(await contentOf(cut.headers.get('x-run-id'))).toMatchObject({
      response: { choices: [{ message: { content: expect.stringContaining('one') } }] },
    });
  });

  it('is that of the request of another service, for memory and for a channel', async () => {
    const requestJson = JSON.stringify({ messages: [{ role: 'user', content: 'Extract.' }] });
    const request = { agent: 'worker', callId: newId(), requestJson };
    const assertion = await harness.identity.assertion({ tenantId, tenantSlug: 'acme', userId: 'ann' });
    const memory = await harness.peer('memory');
    const extracted = await memory.call('complete', request, { deadlineMs: 10_000, assertion });
    const messages = [{ role: 'user', content: 'Extract.' }];
    expect(await contentOf(extracted.runId)).toMatchObject({ api: 'chat', messages, tool_calls: [] });
    const delegation = { tenantId, agentId: agent.id, userId: 'ann' };
    const webhook = await harness.peer('webhook');
    harness.agents.set(agent.id, agent);
    harness.simulator.setFault({ tool_calls: [{ name: 'orders__lookup', arguments: {} }] });
    const sent = await webhook.call(
      'complete',
      { ...request, agent: agent.id, callId: newId(), channel: 'zalo_oa' },
      {
        deadlineMs: 10_000,
        assertion: await (await harness.identity.signer('webhook')).delegation(delegation),
      },
    );
    expect(await contentOf(sent.runId)).toMatchObject({
      ...{ api: 'chat', messages, agent: { system_prompt: 'Work.' }, tool_calls: [{ name: 'lookup' }] },
      response: { choices: [expect.anything()] },
    });
  });

  it('has the size of vectors in place of them', async () => {
    const id = await runOf('/v1/embeddings', { model: 'embedder', input: ['a', 'b'], dimensions: 100 });
    expect(await contentOf(id)).toMatchObject({
      messages: ['a', 'b'],
      response: { data: [{ embedding: expect.stringMatching(/numbers|bytes/) }, expect.anything()] },
    });
  });
});

describe('the content of a run is read', () => {
  const codeFor = async (id: string | null, principal: Partial<Principal>): Promise<unknown> => {
    const response = await read(id, principal);
    const { error } = (await response.json()) as { error?: { code: string } };
    return error?.code ?? response.status;
  };

  it('by admins of its tenant and by its user', async () => {
    const id = await runOf('/v1/chat/completions', chat('hi'));
    await contentOf(id);
    const user = { tenantId, role: 'user' as const };
    expect(await codeFor(id, { ...user, userId: 'ann' })).toBe(200);
    expect(await codeFor(id, { ...reader, userId: 'ann' })).toBe(200);
    expect(await codeFor(id, { ...user, userId: 'bob' })).toBe('content_not_stored');
    expect(await codeFor(id, { ...reader, userId: 'bob' })).toBe('content_not_stored');
    expect(await codeFor(id, { ...user, userId: null })).toBe('role_missing');
    expect(await codeFor(id, { ...reader, scopes: ['chat'] })).toBe('scope_missing');
    expect(await codeFor(id, { ...reader, tenantId: newId() })).toBe('content_not_stored');
    expect(await codeFor(newId(), reader)).toBe('content_not_stored');
    expect(await codeFor('x', reader)).toBe('content_not_stored');
  });

  it('by no one where the tenant stores none, or after its retention', async () => {
    const other = newId();
    const id = await runOf('/v1/chat/completions', chat('hi'), { tenantId: other, userId: 'ann' });
    const refused = await read(id, { ...reader, tenantId: other });
    expect([refused.status, await refused.json()]).toMatchObject([
      404,
      { error: { code: 'content_not_stored', message: expect.stringContaining('is not "full"') } },
    ]);
    expect(await harness.rows('select from chat.run_contents where tenant_id = $1', [other])).toEqual([]);
    const kept = await runOf('/v1/chat/completions', chat('hi'));
    await contentOf(kept);
    const [row] = await harness.rows(
      `select expires_at - created_at = interval '3650 days' as longest from chat.run_contents where id = $1`,
      [kept],
    );
    // A longer retention later holds for it, too.
    expect(row).toEqual({ longest: true });
    await harness.rows(
      `update chat.run_contents set created_at = created_at - interval '8 days' where id = $1 returning id`,
      [kept],
    );
    expect(await codeFor(kept, reader)).toBe('content_not_stored');
  });
});

describe('the content of a run is stored', () => {
  it('compressed and encrypted', async () => {
    const text = 'A secret of mine. '.repeat(2_000);
    const id = await runOf('/v1/chat/completions', chat(text));
    await contentOf(id);
    const [row] = await harness.rows(
      `select bytes, position('secret'::bytea in content) as found from chat.run_contents where id = $1`,
      [id],
    );
    expect(row).toMatchObject({ found: 0 });
    expect(row?.['bytes']).toBeLessThan(text.length / 10);
  });

  it('after the response, which does not wait for it', async () => {
    const log = createLogger('test', 'silent');
    const { url } = harness.database;
    const pool = createPool({ url, role: 'chat_system', max: 1, log });
    const id = await withTransaction(pool, async (db) => {
      // No insert until the transaction ends.
      await db.query('lock table chat.run_contents in share row exclusive mode');
      const ids = [0, 1, 2].map(() => runOf('/v1/chat/completions', chat('hi')));
      const [first = null] = await Promise.all(ids);
      await eventually(async () =>
        expect(await harness.metrics()).toMatch(/^gatehouse_run_contents_waiting\S* 3$/m),
      );
      return first;
    });
    await pool.end();
    await contentOf(id);
    expect(await harness.metrics()).toMatch(/gatehouse_run_contents_total{outcome="stored",.*} [1-9]/);
  });

  it('of no user whose data were deleted while the run was under way', async () => {
    const participant = await harness.participant('tenant');
    const forget = (userId: string) =>
      participant.call(
        'forgetUser',
        { tenantId, userId, deletionId: newId(), requestedAtMs: BigInt(Date.now()) },
        { deadlineMs: 10_000 },
      );
    const ursula = { tenantId, userId: 'ursula' };
    const first = await runOf('/v1/chat/completions', chat('hi'), ursula);
    await contentOf(first);
    harness.simulator.setFault({ delay_ms: 2_000 });
    const late = runOf('/v1/chat/completions', chat('hi'), ursula);
    await eventually(async () =>
      expect(await harness.rows('select from chat.runs_under_way')).not.toEqual([]),
    );
    expect((await forget('ursula')).counts).toMatchObject({ contents: 1n });
    const lateId = await late;
    const other = await runOf('/v1/chat/completions', chat('hi'));
    await contentOf(other);
    const left = await harness.rows('select id from chat.run_contents where id = any($1::uuid[])', [
      [first, lateId],
    ]);
    expect(left).toEqual([]);
  });
});
