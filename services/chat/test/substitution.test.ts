import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import type { GuardrailDefinition } from '@gatehouse/contract/guardrails';
import { newId } from '@gatehouse/kit/ids';
import { makeAgent, type ChatHarness } from './chat-harness.ts';
import { joined, streamedApis } from './answer-streams.ts';
import { guardedUser } from './guarding.ts';
import { apis, chatAnswer } from './guarded-apis.ts';
import { makePassage } from './memory-stand-in.ts';
import type { Fields } from './response-answers.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';
import { chunks, message, messageEvents } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Values behind placeholders, and their way back into answers. */

const address = 'ann.lee@gmail.com';
const mail = `I am ${address}.`;

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider);
});
beforeEach(() => {
  provider.answer();
  harness.agents.clear();
  harness.memory.passages = [];
  harness.toolLists.tools = [];
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

type As = { tenantId: string; userId: string };
const ask = (dialect: string, principal: As, body: Fields): Promise<Response> => {
  const api = apis[dialect];
  if (api === undefined) throw new Error(`there is no API ${dialect}`);
  const headers = { 'x-gatehouse-dialect': dialect };
  const path =
    dialect === 'gemini' && body['stream'] === true
      ? '/v1beta/models/gemini:streamGenerateContent?alt=sse'
      : api.path;
  const { stream: isStream, ...others } = body;
  const sent = dialect === 'gemini' || isStream === undefined ? others : body;
  return harness.post(path, { model: api.model, ...sent }, { principal, headers });
};
const bodyOf = (dialect: string, ...texts: string[]): Fields => apis[dialect]?.body(...texts) ?? {};
const received = (): string => provider.received.at(-1)?.body.toString() ?? '';
const substituting = (...others: Partial<GuardrailDefinition>[]): As =>
  guardedUser(harness, { action: 'substitute' }, ...others);
const runOf = (response: Response) => harness.endedRun(response.headers.get('x-run-id'));

/** The placeholder of the address in requests of a tenant. */
async function placeholderFor(principal: As): Promise<string> {
  provider.answer(whole(chatAnswer));
  await (await ask('chat', principal, bodyOf('chat', mail))).text();
  return /EMAIL\d{10}/.exec(received())?.[0] ?? '';
}

const patternCheck = {
  type: 'patterns' as const,
  patterns: [{ name: 'Order no', regex: 'ORD.[0-9]{6}', case_sensitive: true }],
  words: [],
};

describe.each(Object.entries(streamedApis))('a value in a request of %s', (dialect, api) => {
  it('has the same placeholder in each turn, and comes back in answers', async () => {
    const principal = substituting();
    const placeholder = await placeholderFor(principal);
    expect(placeholder).toMatch(/^EMAIL\d{10}$/);
    const said = `${placeholder}, ${placeholder.toLowerCase()} ${placeholder}1 EMAIL0000000000 ![x](https://a.example/?q=${placeholder}) "${placeholder}"`;
    const heard = `${address}, ${address} ${placeholder}1 EMAIL0000000000 ![x](https://a.example/?q=${placeholder}) "${address}"`;
    provider.answer(whole(api.whole(said)));
    const response = await ask(dialect, principal, bodyOf(dialect, mail, 'Yes.', `Is ${address} right?`));
    expect(api.text((await response.json()) as Fields)).toBe(heard);
    expect(received()).not.toContain(address);
    expect(received().split(placeholder)).toHaveLength(3);
    expect(await runOf(response)).toMatchObject({
      ...{ status: 'ok', output_preview: said },
      guardrails: [{ name: 'pii', on: 'user', outcome: 'substituted', types: { email: 2 } }],
    });
    for (const size of [1, 3, 7, 200]) {
      provider.answer(streamed(api.frames(said.match(new RegExp(`.{1,${size}}`, 'g')) ?? [])));
      const streaming = await ask(dialect, principal, { ...bodyOf(dialect, mail), stream: true });
      const text = await streaming.text();
      expect(api.text(joined(dialect, text))).toBe(heard);
      expect(await runOf(streaming)).toMatchObject({ status: 'ok', output_preview: said });
    }
  });

  it('leaves the bytes of an answer without it as they were', async () => {
    const frames = api.frames('Nothing to find, EMAIL0000000000.'.split(''));
    provider.answer(streamed(frames));
    const response = await ask(dialect, substituting(), { ...bodyOf(dialect, mail), stream: true });
    expect(await response.text()).toContain(frames.slice(0, 30).join(''));
  });

  it('comes back after the answer is checked', async () => {
    const principal = substituting({ on: ['answer'], action: 'mask' });
    const placeholder = await placeholderFor(principal);
    const said = `${placeholder} or joe.lee@gmail.com`;
    provider.answer(whole(api.whole(said)));
    const response = await ask(dialect, principal, bodyOf(dialect, mail));
    expect(api.text((await response.json()) as Fields)).toBe(`${address} or [EMAIL]`);
    expect(await runOf(response)).toMatchObject({ output_preview: `${placeholder} or [EMAIL]` });
    provider.answer(streamed(api.frames(said.match(/.{1,5}/g) ?? [])));
    const streaming = await ask(dialect, principal, { ...bodyOf(dialect, mail), stream: true });
    expect(api.text(joined(dialect, await streaming.text()))).toBe(`${address} or [EMAIL]`);
  });

  it('comes back in an answer that ends with a refusal', async () => {
    const principal = substituting({ on: ['answer'], action: 'block', message: 'No.', check: patternCheck });
    const placeholder = await placeholderFor(principal);
    provider.answer(streamed(api.frames([`To ${placeholder}: `, 'ORD-12', '3456.', ' '])));
    const response = await ask(dialect, principal, { ...bodyOf(dialect, mail), stream: true });
    const answer = joined(dialect, await response.text());
    expect(answer).toMatchObject(api.refusal('No.'));
    expect(api.text(answer)).toBe(`To ${address}: `);
  });

  it('is masked where JSON or code would escape it', async () => {
    const principal = guardedUser(harness, { action: 'substitute', check: patternCheck });
    provider.answer(whole(apis[dialect]?.answer));
    await ask(dialect, principal, bodyOf(dialect, 'ORD"123456 and ORD-123456'));
    expect(received()).toMatch(/\[ORDER NO\] and ORDERNO\d{10}/);
  });

  it('blocks a request where it can’t be rewritten', async () => {
    const definitions = JSON.stringify(apis[dialect]?.tools('Sends.')).replaceAll('"f"', `"${address}"`);
    const response = await ask(dialect, substituting(), {
      ...bodyOf(dialect, 'Hi.'),
      ...(JSON.parse(definitions) as Fields),
    });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('not allowed here'),
    ]);
  });
});

it('is another one for another tenant', async () => {
  const placeholders = [await placeholderFor(substituting()), await placeholderFor(substituting())];
  expect(new Set(placeholders).size).toBe(2);
});

it('comes back in an address if it came in one of the same host', async () => {
  const principal = substituting();
  const placeholder = await placeholderFor(principal);
  const said = (value: string): string => `https://a.example/?q=${value} https://b.example/?q=${value}`;
  provider.answer(whole(streamedApis['chat']?.whole(said(placeholder))));
  const response = await ask('chat', principal, bodyOf('chat', `See https://a.example/u/${address}?a`));
  expect(streamedApis['chat']?.text((await response.json()) as Fields)).toBe(
    said(placeholder).replace(placeholder, address),
  );
});

describe('calls of the client’s tools', () => {
  const json = (to: string): string =>
    JSON.stringify({ to: [to], inner: JSON.stringify({ to, line: 'a\n' }), url: `https://a.example/${to}` });
  const expected = (placeholder: string): string =>
    json(placeholder).replace(placeholder, address).replace(placeholder, address);

  it('have values in chat completions, however they are split', async () => {
    const principal = substituting();
    const placeholder = await placeholderFor(principal);
    const call = (args: string): Fields => ({
      tool_calls: [{ index: 0, id: 't', type: 'function', function: { name: 'send', arguments: args } }],
    });
    for (const size of [1, 4, 300]) {
      const pieces = json(placeholder).match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      const deltas = pieces.map((args) => ({ tool_calls: [{ index: 0, function: { arguments: args } }] }));
      provider.answer(streamed(chunks([call(''), ...deltas], 'tool_calls')));
      const response = await ask('chat', principal, { ...bodyOf('chat', mail), stream: true });
      expect(joined('chat', await response.text())).toMatchObject({
        choices: [{ message: { tool_calls: [{ function: { arguments: expected(placeholder) } }] } }],
      });
    }
    const toolCall = { id: 't', type: 'function', function: { name: 'send', arguments: json(placeholder) } };
    const said = { role: 'assistant', content: null, tool_calls: [toolCall] };
    provider.answer(
      whole({ ...chatAnswer, choices: [{ index: 0, message: said, finish_reason: 'tool_calls' }] }),
    );
    const response = await ask('chat', principal, bodyOf('chat', mail));
    expect(await response.json()).toMatchObject({
      choices: [{ message: { tool_calls: [{ function: { arguments: expected(placeholder) } }] } }],
    });
  });

  it('have values in messages, and reasoning with a signature has none', async () => {
    const principal = substituting();
    const placeholder = await placeholderFor(principal);
    const blocks = (to: string, thought = to): Fields[] => [
      { type: 'thinking', thinking: `Ask ${thought}.`, signature: 'c2ln' },
      { type: 'text', text: `To ${to}` },
      { type: 'tool_use', id: 't', name: 'send', input: { to } },
    ];
    const answer = { content: blocks(address, placeholder) };
    provider.answer(whole(message(blocks(placeholder), { stop_reason: 'tool_use' })));
    const response = await ask('messages', principal, bodyOf('messages', mail));
    expect(await response.json()).toMatchObject(answer);
    provider.answer(streamed(messageEvents(blocks(placeholder), 'tool_use')));
    const streaming = await ask('messages', principal, { ...bodyOf('messages', mail), stream: true });
    expect(joined('messages', await streaming.text())).toMatchObject(answer);
    // The model gets its own text back, with its signature.
    const text = { role: 'user', content: mail };
    const result = { type: 'tool_result', tool_use_id: 't', content: 'Sent.' };
    const next = [text, { role: 'assistant', content: answer.content }, { role: 'user', content: [result] }];
    provider.answer(whole(message([{ type: 'text', text: 'Done.' }])));
    await ask('messages', principal, { ...bodyOf('messages', mail), messages: next });
    expect((JSON.parse(received()) as { messages: Fields[] }).messages[1]).toMatchObject({
      content: blocks(placeholder),
    });
  });

  it('have no thoughts with values in Google’s API', async () => {
    const principal = substituting();
    const placeholder = await placeholderFor(principal);
    const parts = (to: string): Fields[] => [
      { text: `Ask ${placeholder}.`, thought: true, thoughtSignature: 'c2ln' },
      { functionCall: { name: 'send', args: { to } } },
    ];
    const answerOf = (to: string): Fields => ({
      candidates: [{ index: 0, content: { role: 'model', parts: parts(to) }, finishReason: 'STOP' }],
    });
    const frame = `data: ${JSON.stringify(answerOf(placeholder))}\r\n\r\n`;
    provider.answer(whole(answerOf(placeholder)), streamed([frame]));
    const response = await ask('gemini', principal, bodyOf('gemini', mail));
    expect(await response.json()).toMatchObject(answerOf(address));
    const streaming = await ask('gemini', principal, { ...bodyOf('gemini', mail), stream: true });
    expect(joined('gemini', await streaming.text())).toMatchObject({
      candidates: [{ content: { parts: parts(address) } }],
    });
  });
});

it('has the forms of values in schemas in their descriptions', async () => {
  const parameters = { type: 'object', properties: { to: { type: 'string', format: 'email' } } };
  const tools = [{ type: 'function', function: { name: 'send', parameters } }];
  const bodies: string[] = [];
  for (const action of ['substitute', 'mask'] as const) {
    provider.answer(whole(chatAnswer));
    await ask('chat', guardedUser(harness, { action }), { ...bodyOf('chat', 'Hi.'), tools });
    bodies.push(received());
  }
  expect(bodies).toEqual([
    expect.stringContaining('{"type":"string","description":"format: email"}'),
    expect.stringContaining('{"type":"string","format":"email"}'),
  ]);
});

describe('an agent', () => {
  const worker = (fields: Parameters<typeof makeAgent>[0]): Fields => {
    harness.agents.set('worker', makeAgent({ key: 'worker', ...fields }));
    return { model: 'agent:worker' };
  };
  const orders = {
    ...{ name: 'orders__lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' },
    ...{ serverId: newId(), serverName: 'orders', timeoutMs: 5_000, executor: 'agent', repeatable: true },
  };
  const calling = (to: string): Fields => {
    const call = { name: orders.name, arguments: JSON.stringify({ to }) };
    const said = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 't', type: 'function', function: call }],
    };
    return { ...chatAnswer, choices: [{ index: 0, message: said, finish_reason: 'tool_calls' }] };
  };

  it('has values of its prompt sent to no client', async () => {
    const principal = substituting();
    const placeholder = await placeholderFor(principal);
    const body = { ...bodyOf('chat', 'Hi.'), ...worker({ systemPrompt: mail }) };
    provider.answer(whole(streamedApis['chat']?.whole(placeholder)));
    const response = await ask('chat', principal, body);
    expect(received()).toContain(`I am ${placeholder}.`);
    expect(streamedApis['chat']?.text((await response.json()) as Fields)).toBe(placeholder);
  });

  it('calls its tools with values, checked, and stores placeholders', async () => {
    const called: string[] = [];
    harness.toolLists.tools = [orders];
    harness.callTool = (_tool, argumentsJson) => {
      called.push(argumentsJson);
      return Promise.resolve({ content: 'Ask joe.lee@gmail.com.', outcome: 'ok' });
    };
    const principal = substituting();
    const { guardrails = [] } = harness.settings.get(principal.tenantId) ?? {};
    harness.settings.set(principal.tenantId, { guardrails, contentFull: true, retentionDays: 1 });
    const placeholder = await placeholderFor(principal);
    const body = { ...bodyOf('chat', mail), ...worker({ tools: { maxIterations: 2 } }) };
    provider.answer(whole(calling(placeholder)), ({ response: reply }) => {
      const ofJoe = /Ask (EMAIL\d{10})/.exec(received())?.[1] ?? '';
      reply.writeHead(200, { 'content-type': 'application/json' });
      reply.end(JSON.stringify(streamedApis['chat']?.whole(`Asked ${ofJoe} of ${placeholder}.`)));
    });
    const response = await ask('chat', principal, body);
    expect(called).toEqual([JSON.stringify({ to: address })]);
    expect(received()).not.toMatch(/gmail/);
    expect(streamedApis['chat']?.text((await response.json()) as Fields)).toBe(
      `Asked joe.lee@gmail.com of ${address}.`,
    );
    const run = await runOf(response);
    await eventually(async () => {
      const reader = {
        ...principal,
        userId: null,
        role: 'admin' as const,
        scopes: ['analytics.read' as const],
      };
      const content = await harness.get(`/v1/traces/${run.run_id}/content`, reader);
      const stored = await content.text();
      expect([content.status, stored]).toEqual([200, expect.stringMatching(/Asked EMAIL\d{10} of EMAIL/)]);
      expect(stored).toContain(`"to":"${placeholder}"`);
      expect(stored).not.toContain('gmail');
    });
  });

  it('blocks a call of a tool by the value in it', async () => {
    harness.toolLists.tools = [orders];
    harness.callTool = () => Promise.reject(new Error('the tool was called'));
    const principal = substituting({ on: ['tool_call'], action: 'block', message: 'No addresses.' });
    const placeholder = await placeholderFor(principal);
    provider.answer(whole(calling(placeholder)), whole(chatAnswer));
    await ask('chat', principal, { ...bodyOf('chat', mail), ...worker({ tools: { maxIterations: 2 } }) });
    expect(received()).toContain('Not called: No addresses.');
  });

  it('remembers what its user saw', async () => {
    const memory = { enabled: true, recallLimit: 3, write: true, analyser: 'simple', minScore: 0.4 };
    harness.memory.passages = [makePassage({ text: 'Joe is joe.lee@gmail.com.' })];
    const principal = substituting();
    const placeholder = await placeholderFor(principal);
    const body = { ...bodyOf('chat', mail), ...worker({ memory }) };
    for (const isStream of [false, true]) {
      harness.memory.turns.length = 0;
      const said = `To ${placeholder}.`;
      const chat = streamedApis['chat'];
      provider.answer(isStream ? streamed(chat?.frames(said.split('')) ?? []) : whole(chat?.whole(said)));
      const response = await ask('chat', principal, isStream ? { ...body, stream: true } : body);
      await response.text();
      expect(harness.memory.recalls.at(-1)?.request.query).toBe(mail);
      expect(received()).toMatch(/Joe is EMAIL\d{10}/);
      await eventually(() =>
        expect(harness.memory.turns.at(-1)).toMatchObject({ input: mail, output: `To ${address}.` }),
      );
    }
  });
});

it('stores responses as their client saw them', async () => {
  const principal = substituting();
  const placeholder = await placeholderFor(principal);
  const api = streamedApis['responses'];
  provider.answer(streamed(api?.frames(`To ${placeholder}.`.split('')) ?? []));
  const request = { ...bodyOf('responses', mail), stream: true, store: true };
  const { id } = joined('responses', await (await ask('responses', principal, request)).text());
  const [stored, items] = await Promise.all(
    ['', '/input_items'].map(async (path) =>
      (await harness.get(`/v1/responses/${String(id)}${path}`, principal)).text(),
    ),
  );
  expect(stored).toContain(`To ${address}.`);
  expect(items).toContain(mail);
  expect(`${stored} ${items}`).not.toContain(placeholder);
  provider.answer(whole(api?.whole(`Again ${placeholder}.`)));
  const next = await ask('responses', principal, {
    ...{ input: 'Again.', previous_response_id: String(id), store: true },
  });
  expect(api?.text((await next.json()) as Fields)).toBe(`Again ${address}.`);
  expect(received().split(placeholder)).toHaveLength(3);
  expect(received()).not.toContain(address);
});

it('seals summaries with the values of their conversation', async () => {
  const principal = substituting();
  const placeholder = await placeholderFor(principal);
  const api = streamedApis['responses'];
  provider.answer(whole(api?.whole(`A summary of ${placeholder}.`)));
  const headers = { 'x-gatehouse-dialect': 'responses' };
  const input = [{ type: 'message', role: 'user', content: mail }];
  const response = await harness.post(
    '/v1/responses/compact',
    { model: 'gpt', input },
    { principal, headers },
  );
  const { output } = (await response.json()) as { output: Fields[] };
  provider.answer(whole(api?.whole(`To ${placeholder}.`)));
  const next = await ask('responses', principal, { input: [...output, { role: 'user', content: 'Go on.' }] });
  expect(received()).toContain(`A summary of ${placeholder}.`);
  expect(api?.text((await next.json()) as Fields)).toBe(`To ${address}.`);
});
