import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { makeAgent, type ChatHarness } from './chat-harness.ts';
import { guardedUser } from './guarding.ts';
import { apis, chatAnswer, usage } from './guarded-apis.ts';
import { makePassage } from './memory-stand-in.ts';
import { answerOf, messageItem, type Fields } from './response-answers.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';
import { translatingHarness } from './translating-harness.ts';

/** Guardrails on the texts of requests, in each API. */

const address = 'ann.lee@gmail.com';
const mail = `Write to ${address}, please.`;
const masked = 'Write to [EMAIL], please.';

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider);
});
beforeEach(() => {
  provider.answer();
  harness.memory.passages = [];
  harness.memory.recalls.length = 0;
  harness.agents.clear();
  harness.toolLists.tools = [];
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

/** The body that the provider got last. */
const received = (): string => provider.received.at(-1)?.body.toString() ?? '';

type As = { tenantId: string; userId: string };
const ask = (dialect: string, body: Fields, principal: As): Promise<Response> => {
  const api = apis[dialect];
  if (api === undefined) throw new Error(`there is no API ${dialect}`);
  const headers = { 'x-gatehouse-dialect': dialect };
  return harness.post(api.path, { model: api.model, ...body }, { principal, headers });
};

describe.each(Object.entries(apis))('a request for %s', (dialect, api) => {
  it('is refused where a guardrail blocks, before the provider is called', async () => {
    const principal = guardedUser(harness, { message: 'No addresses.' });
    const response = await ask(dialect, api.body('Hi.', 'Hello.', mail), principal);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject(api.error('No addresses.', api.param(2)));
    expect(response.headers.get('x-gateway-guardrail')).toBe('pii');
    expect(provider.received).toEqual([]);
  });

  it('goes on with [BLOCKED] in place of a match in an older message', async () => {
    provider.answer(whole(api.answer));
    const response = await ask(dialect, api.body(mail, 'Hello.', 'Hi.'), guardedUser(harness, {}));
    expect(response.status).toBe(200);
    expect(received()).toContain('Write to [BLOCKED], please.');
    expect(received()).not.toContain(address);
  });

  it('reaches the provider masked, and so do its preview and its content', async () => {
    provider.answer(whole(api.answer));
    const principal = guardedUser(harness, { action: 'mask' });
    const { guardrails = [] } = harness.settings.get(principal.tenantId) ?? {};
    harness.settings.set(principal.tenantId, { guardrails, contentFull: true, retentionDays: 1 });
    const response = await ask(dialect, api.body(mail), principal);
    expect(response.status).toBe(200);
    expect(received()).toContain(masked);
    expect(received()).not.toContain(address);
    const id = response.headers.get('x-run-id');
    expect(await harness.endedRun(id)).toMatchObject({
      input_preview: masked,
      guardrails: [{ name: 'pii', on: 'user', outcome: 'masked', types: { email: 1 }, cost_pico: '0' }],
    });
    await eventually(async () => {
      const reader = {
        ...principal,
        userId: null,
        role: 'admin' as const,
        scopes: ['analytics.read' as const],
      };
      const content = await harness.get(`/v1/traces/${id ?? ''}/content`, reader);
      const text = await content.text();
      expect([content.status, text]).toEqual([200, expect.stringContaining(masked)]);
      expect(text).not.toContain(address);
    });
  });

  it('has its system text and its tools checked', async () => {
    const principal = guardedUser(harness, { on: ['system'], action: 'mask' });
    provider.answer(whole(api.answer));
    const body = { ...api.body('Ask ann.lee@gmail.com.'), ...api.tools(mail) };
    expect((await ask(dialect, body, principal)).status).toBe(200);
    expect(received()).toContain(masked);
    expect(received()).toContain('Ask ann.lee@gmail.com.');
    const blocking = guardedUser(harness, { on: ['system'] });
    expect((await ask(dialect, api.system(mail), blocking)).status).toBe(400);
  });

  it('stays byte for byte where a guardrail finds nothing, or flags', async () => {
    provider.answer(whole(api.answer), whole(api.answer), whole(api.answer));
    const unguarded = { tenantId: guardedUser(harness).tenantId, userId: 'ann' };
    for (const principal of [unguarded, guardedUser(harness, { action: 'flag' })])
      expect((await ask(dialect, api.body(mail), principal)).status).toBe(200);
    const [plain, flagged] = provider.received.map(({ body }) => body.toString());
    expect(flagged).toBe(plain);
    expect(plain).toContain(mail);
  });
});

it('raises an event where it blocks, once a minute and guardrail, and counted', async () => {
  const principal = guardedUser(harness, {});
  for (let sent = 0; sent < 2; sent += 1) await ask('chat', apis['chat']?.body(mail) ?? {}, principal);
  await eventually(() =>
    expect(harness.alertsOf(principal.tenantId, 'guardrail.blocked')).toMatchObject([
      { data: { guardrail: 'pii', on: 'user', agent_id: null } },
    ]),
  );
  const counted = /^gatehouse_guardrail_findings_total\{.*outcome="blocked".*\} \d+$/m;
  expect(await harness.metrics()).toMatch(counted);
});

describe('a text that cannot be rewritten', () => {
  it('is blocked where it would be masked', async () => {
    const principal = guardedUser(harness, { action: 'mask' });
    const tools = [{ type: 'function', function: { name: 'f', parameters: { enum: [address] } } }];
    const response = await ask('chat', { ...apis['chat']?.body('Hi.'), tools }, principal);
    expect(response.status).toBe(400);
    expect(provider.received).toEqual([]);
  });

  it('is blocked where no check can read it, if a guardrail says so', async () => {
    const content = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }];
    const body = { messages: [{ role: 'user', content }] };
    const refusing = guardedUser(harness, { action: 'mask', unreadable: 'block' });
    const response = await ask('chat', body, refusing);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'content_blocked' } });
    provider.answer(whole(chatAnswer));
    expect((await ask('chat', body, guardedUser(harness, { action: 'mask' }))).status).toBe(200);
  });
});

const orders = {
  ...{ name: 'orders__lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' },
  ...{ serverId: newId(), serverName: 'orders', timeoutMs: 5_000, executor: 'agent', repeatable: true },
};
const calling = (args: Fields): Fields => ({
  ...chatAnswer,
  choices: [
    {
      ...{ index: 0, finish_reason: 'tool_calls' },
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 't',
            type: 'function',
            function: { name: 'orders__lookup', arguments: JSON.stringify(args) },
          },
        ],
      },
    },
  ],
});

describe('an agent', () => {
  const worker = (fields: object = {}) => {
    harness.agents.set('worker', makeAgent({ key: 'worker', ...fields }));
    return { model: 'agent:worker' };
  };

  it('has its prompt checked, and its tools', async () => {
    const agent = worker({ systemPrompt: mail, tools: { maxIterations: 2 } });
    harness.toolLists.tools = [{ ...orders, description: mail }];
    const body = { ...apis['chat']?.body('Hi.'), ...agent };
    const blocked = await ask('chat', body, guardedUser(harness, { on: ['system'] }));
    expect([blocked.status, await blocked.json()]).toMatchObject([400, { error: { param: 'model' } }]);
    provider.answer(whole(chatAnswer));
    const passed = await ask('chat', body, guardedUser(harness, { on: ['system'], action: 'mask' }));
    expect(passed.status).toBe(200);
    expect(received().match(/Write to \[EMAIL\], please\./g)).toHaveLength(2);
    expect(received()).not.toContain(address);
  });

  it('gets passages of its memory with [BLOCKED], and memory gets a masked question', async () => {
    const memory = { enabled: true, recallLimit: 3, write: true, analyser: 'simple', minScore: 0.4 };
    const agent = worker({ memory });
    harness.memory.passages = [makePassage({ text: mail, title: address })];
    provider.answer(whole(chatAnswer), whole(chatAnswer));
    const body = { ...apis['chat']?.body(`I am ${address}.`), ...agent };
    const masking = guardedUser(harness, { action: 'mask' });
    expect((await ask('chat', body, masking)).status).toBe(200);
    expect(harness.memory.recalls.at(-1)?.request.query).toBe('I am [EMAIL].');
    await eventually(() => expect(harness.memory.turns.at(-1)?.input).toBe('I am [EMAIL].'));
    expect(received()).toContain(masked);
    expect(received()).not.toContain(address);
    const blocking = guardedUser(harness, {});
    expect((await ask('chat', { ...apis['chat']?.body('Hi.'), ...agent }, blocking)).status).toBe(200);
    expect(received()).toContain('Write to [BLOCKED], please.');
    expect(received()).not.toContain(address);
  });

  it('is not asked for anything by a blocked request', async () => {
    const memory = { enabled: true, recallLimit: 3, write: true, analyser: 'simple', minScore: 0.4 };
    const agent = worker({ memory });
    const response = await ask('chat', { ...apis['chat']?.body(mail), ...agent }, guardedUser(harness, {}));
    expect(response.status).toBe(400);
    expect(harness.memory.recalls).toEqual([]);
  });

  it('gets masked results of its tools, and a sentence in place of blocked ones', async () => {
    const agent = worker({ tools: { maxIterations: 2 } });
    harness.toolLists.tools = [orders];
    harness.callTool = () => Promise.resolve({ content: mail, outcome: 'ok' });
    const body = { ...apis['chat']?.body('Hi.'), ...agent };
    provider.answer(whole(calling({ id: 7 })), whole(chatAnswer));
    const masking = guardedUser(harness, { on: ['tool_result'], action: 'mask' });
    expect((await ask('chat', body, masking)).status).toBe(200);
    expect(received()).toContain(masked);
    provider.answer(whole(calling({ id: 7 })), whole(chatAnswer));
    const blocking = guardedUser(harness, { on: ['tool_result'], message: 'No addresses.' });
    expect((await ask('chat', body, blocking)).status).toBe(200);
    expect(received()).toContain('The result is withheld: No addresses.');
    expect(received()).not.toContain(address);
  });

  it('gets masked results of its tools in JSON, with other escapes as they were', async () => {
    const escaped = (text: string): string => String.raw`{"text":"${text}","name":"\u00fc"}`;
    harness.toolLists.tools = [orders];
    harness.callTool = () =>
      Promise.resolve({ content: escaped(mail).replace('@', '\\u0040'), outcome: 'ok' });
    provider.answer(whole(calling({ id: 7 })), whole(chatAnswer));
    const masking = guardedUser(harness, { on: ['tool_result'], action: 'mask' });
    await ask('chat', { ...apis['chat']?.body('Hi.'), ...worker({ tools: { maxIterations: 2 } }) }, masking);
    expect(received()).toContain(JSON.stringify(escaped(masked)).slice(1, -1));
  });

  it('calls its tools with masked arguments, and not with blocked ones', async () => {
    const agent = worker({ tools: { maxIterations: 2 } });
    harness.toolLists.tools = [orders];
    const called: string[] = [];
    harness.callTool = (_tool, argumentsJson) => {
      called.push(argumentsJson);
      return Promise.resolve({ content: 'Found.', outcome: 'ok' });
    };
    const body = { ...apis['chat']?.body('Hi.'), ...agent };
    const arguments_ = { to: [address], id: 7 };
    provider.answer(whole(calling(arguments_)), whole(chatAnswer));
    expect(
      (await ask('chat', body, guardedUser(harness, { on: ['tool_call'], action: 'mask' }))).status,
    ).toBe(200);
    expect(called).toEqual(['{"to":["[EMAIL]"],"id":7}']);
    provider.answer(whole(calling(arguments_)), whole(chatAnswer));
    const response = await ask('chat', body, guardedUser(harness, { on: ['tool_call'] }));
    expect(response.status).toBe(200);
    expect(called).toHaveLength(1);
    expect(received()).toContain('Not called: It has content that is not allowed here.');
    const run = await harness.endedRun(response.headers.get('x-run-id'));
    expect(run.tools).toMatchObject([{ name: 'orders__lookup', outcome: 'content_blocked' }]);
  });
});

it('reads what a stored response is continued with', async () => {
  const principal = guardedUser(harness, {});
  provider.answer(whole(answerOf([messageItem(mail)])));
  const first = await ask('responses', { input: 'Hi.' }, principal);
  const { id } = (await first.json()) as { id: string };
  provider.answer(whole(answerOf([messageItem('Yes.')])));
  const next = await ask('responses', { input: 'And?', previous_response_id: id }, principal);
  expect(next.status).toBe(200);
  expect(received()).toContain('Write to [BLOCKED], please.');
});

it('leaves a request over a limit to the limit', async () => {
  const principal = guardedUser(harness, {});
  const { guardrails = [] } = harness.settings.get(principal.tenantId) ?? {};
  harness.settings.set(principal.tenantId, { guardrails, limited: [Resource.TOKENS] });
  harness.usedUp.add(principal.tenantId);
  const response = await ask('chat', apis['chat']?.body(mail) ?? {}, principal);
  expect([response.status, await response.json()]).toMatchObject([
    429,
    { error: { code: 'rate_limit_exceeded' } },
  ]);
});

it('checks requests whose tokens are counted, and estimates the count of those that may change', async () => {
  const count = (body: Fields, principal: As): Promise<Response> =>
    harness.post(
      '/v1/messages/count_tokens',
      { model: 'claude', ...body },
      {
        ...{ principal, headers: { 'x-gatehouse-dialect': 'messages' } },
      },
    );
  const body = { messages: [{ role: 'user', content: mail }] };
  expect((await count(body, guardedUser(harness, {}))).status).toBe(400);
  const estimated = await count(body, guardedUser(harness, { action: 'mask' }));
  expect([estimated.status, estimated.headers.get('x-gateway-estimated')]).toEqual([200, 'true']);
  expect(provider.received).toEqual([]);
  provider.answer(whole({ input_tokens: 14 }));
  const flagged = await count(body, guardedUser(harness, { action: 'flag' }));
  expect([flagged.status, flagged.headers.get('x-gateway-estimated')]).toEqual([200, null]);
});

it('checks the turns of webhooks and channels', async () => {
  const webhook = await harness.peer('webhook');
  const signer = await harness.identity.signer('webhook');
  const agent = makeAgent({ key: 'answers' });
  harness.agents.set(agent.id, agent);
  const { tenantId } = guardedUser(harness, {});
  for (const channel of ['webhook', 'telegram']) {
    const request = {
      ...{ agent: agent.id, callId: newId(), channel },
      requestJson: JSON.stringify({ messages: [{ role: 'user', content: mail }] }),
    };
    const assertion = await signer.delegation({ tenantId, agentId: agent.id, userId: null });
    const answer = webhook.call('complete', request, { deadlineMs: 10_000, assertion });
    await expect(answer).rejects.toMatchObject({ code: 'content_blocked' });
  }
  expect(provider.received).toEqual([]);
});

it('masks the inputs of embeddings', async () => {
  provider.answer(whole({ data: [{ embedding: [1], index: 0 }], model: 'small', usage }));
  const principal = guardedUser(harness, { action: 'mask' });
  const response = await harness.post(
    '/v1/embeddings',
    { model: 'small', input: ['Hi.', mail] },
    { principal },
  );
  expect(response.status).toBe(200);
  expect(JSON.parse(received())).toMatchObject({ input: ['Hi.', masked] });
});

it('blocks before it masks, then replaces the longer of overlapping matches', async () => {
  const overlapping = (name: string, regex: string) => ({
    check: { type: 'patterns' as const, patterns: [{ name, regex, case_sensitive: true }], words: [] },
  });
  const body = apis['chat']?.body('code ab-12-cd.') ?? {};
  provider.answer(whole(chatAnswer));
  const masks = [overlapping('Short', 'ab-12'), overlapping('Long', '12-cd')];
  const masked = guardedUser(harness, ...masks.map((each) => ({ ...each, action: 'mask' as const })));
  expect((await ask('chat', body, masked)).status).toBe(200);
  expect(received()).toContain('code [SHORT].');
  const one = { ...overlapping('Long', 'ab-12-c'), action: 'mask' as const };
  const blocked = await ask('chat', body, guardedUser(harness, one, overlapping('Short', 'cd')));
  expect(await blocked.json()).toMatchObject({ error: { code: 'content_blocked' } });
});

it('finds patterns and words of the tenant', async () => {
  const patterns = [{ name: 'Order', regex: 'ORD-[0-9]{4}', case_sensitive: true }];
  const check = { type: 'patterns' as const, patterns, words: ['falcon'] };
  provider.answer(whole(chatAnswer));
  const principal = guardedUser(harness, { check, action: 'mask', except: ['ORD-0000'] });
  const body = apis['chat']?.body('ORD-0000, ORD-4711, FALCON, falconry.') ?? {};
  expect((await ask('chat', body, principal)).status).toBe(200);
  expect(received()).toMatch(/ORD-0000, \[ORDER\], \[\w+\], falconry\./);
});
