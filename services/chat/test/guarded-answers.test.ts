import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import type { GuardrailDefinition } from '@gatehouse/contract/guardrails';
import { makeAgent, type ChatHarness } from './chat-harness.ts';
import { framesIn, joined, streamedApis } from './answer-streams.ts';
import { guardedUser } from './guarding.ts';
import { apis, chatAnswer, usage } from './guarded-apis.ts';
import type { Fields } from './response-answers.ts';
import { ScriptedProvider, streamed, whole } from './scripted-provider.ts';
import { message, messageEvents } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Guardrails on answers, in each API. */

const address = 'ann.lee@gmail.com';
const mail = `Write to ${address}, please. Thank you.`;
const masked = 'Write to [EMAIL], please. Thank you.';
const outputs: GuardrailDefinition['on'] = ['answer', 'tool_call'];

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider);
});
beforeEach(() => {
  provider.answer();
  harness.agents.clear();
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

type As = { tenantId: string; userId: string };
const ask = (dialect: string, principal: As, body: Fields = {}): Promise<Response> => {
  const api = apis[dialect];
  if (api === undefined) throw new Error(`there is no API ${dialect}`);
  const headers = { 'x-gatehouse-dialect': dialect };
  return harness.post(api.path, { model: api.model, ...api.body('Hi.'), ...body }, { principal, headers });
};
const stream = (dialect: string, principal: As, body: Fields = {}): Promise<Response> => {
  if (dialect !== 'gemini') return ask(dialect, principal, { stream: true, ...body });
  const path = '/v1beta/models/gemini:streamGenerateContent?alt=sse';
  const headers = { 'x-gatehouse-dialect': dialect };
  return harness.post(path, { ...apis['gemini']?.body('Hi.'), ...body }, { principal, headers });
};
const guarded = (fields: Partial<GuardrailDefinition> = {}): As =>
  guardedUser(harness, { on: outputs, ...fields });
const withContent = (principal: As): As => {
  const { guardrails = [] } = harness.settings.get(principal.tenantId) ?? {};
  harness.settings.set(principal.tenantId, { guardrails, contentFull: true, retentionDays: 1 });
  return principal;
};
const runOf = (response: Response) => harness.endedRun(response.headers.get('x-run-id'));

describe.each(Object.entries(streamedApis))('an answer of %s', (dialect, api) => {
  it('reaches its client masked, and so do its preview and its content', async () => {
    provider.answer(whole(api.whole(mail)));
    const principal = withContent(guarded({ action: 'mask' }));
    const response = await ask(dialect, principal);
    const text = await response.text();
    expect(api.text(JSON.parse(text) as Fields)).toBe(masked);
    expect(text).not.toContain(address);
    const run = await runOf(response);
    expect(run).toMatchObject({
      ...{ status: 'ok', output_preview: masked },
      guardrails: [{ name: 'pii', on: 'answer', outcome: 'masked', types: { email: 1 } }],
    });
    await eventually(async () => {
      const reader = {
        ...principal,
        userId: null,
        role: 'admin' as const,
        scopes: ['analytics.read' as const],
      };
      const content = await harness.get(`/v1/traces/${run.run_id}/content`, reader);
      const stored = await content.text();
      expect([content.status, stored]).toEqual([200, expect.stringContaining(masked)]);
      expect(stored).not.toContain(address);
    });
  });

  it('keeps its bytes where a guardrail finds nothing, or flags', async () => {
    for (const [principal, text] of [
      [guarded({ action: 'mask' }), 'Nothing to find.'],
      [guarded({ action: 'flag' }), mail],
    ] as const) {
      provider.answer(whole(api.whole(text)));
      const response = await ask(dialect, principal);
      expect(api.text((await response.json()) as Fields)).toBe(text);
      const frames = api.frames(text.split(''));
      provider.answer(streamed(frames));
      const streaming = await stream(dialect, principal);
      const body = await streaming.text();
      expect(api.text(joined(dialect, body))).toBe(text);
      expect(body).toContain(frames.slice(0, text.length).join(''));
    }
  });

  it('ends with a refusal where a guardrail blocks', async () => {
    provider.answer(whole(api.whole(mail)));
    const principal = guarded({ message: 'No addresses.' });
    const response = await ask(dialect, principal);
    expect(response.status).toBe(200);
    const answer = (await response.json()) as Fields;
    expect(answer).toMatchObject(api.refusal('No addresses.'));
    expect(JSON.stringify(answer)).not.toContain('gmail');
    expect(await runOf(response)).toMatchObject({
      status: 'blocked',
      guardrails: [{ name: 'pii', on: 'answer', outcome: 'blocked' }],
    });
    expect(harness.alertsOf(principal.tenantId, 'run.failed')).toEqual([]);
  });

  it('is streamed masked, however its frames split a match', async () => {
    for (const size of [1, 3, 7, 100]) {
      const pieces = mail.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      provider.answer(streamed(api.frames(pieces)));
      const response = await stream(dialect, guarded({ action: 'mask' }));
      const text = await response.text();
      expect(api.text(joined(dialect, text))).toBe(masked);
      expect(text).not.toMatch(/gmail|ann\.|@/);
      expect(await runOf(response)).toMatchObject({ status: 'ok', output_preview: masked });
    }
  });

  it('is streamed up to a blocked match, and ends with a refusal', async () => {
    const frames = api.frames(mail.split(''));
    // The provider would go on.
    provider.answer(({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frames.slice(0, -4).join(''));
    });
    const response = await stream(dialect, guarded({ message: 'No addresses.' }));
    const answer = joined(dialect, await response.text());
    expect(answer).toMatchObject(api.refusal('No addresses.'));
    expect(api.text(answer)).toBe('Write to ');
    await eventually(() => expect(provider.received[0]?.response.destroyed).toBe(true));
    expect(await runOf(response)).toMatchObject({
      status: 'blocked',
      spans: [{ status: 'cancelled', error_code: 'content_blocked' }],
    });
  });

  it('is judged up to its end where the provider cuts it, before the error', async () => {
    const frames = api.frames(['Write to ', address, '']);
    const last = frames.findIndex((frame) => frame.includes(address));
    provider.answer(streamed(frames.slice(0, last + 1), { cut: true }));
    const response = await stream(dialect, guarded({ action: 'mask' }));
    const text = await response.text();
    expect(text).not.toContain('gmail');
    expect(text).toMatch(/\[EMAIL\][^]*error/);
  });
});

describe('choices of a chat completion', () => {
  const choices = (contents: readonly string[]) =>
    contents.map((content, index) => ({
      ...{ index, message: { role: 'assistant', content }, finish_reason: 'stop' },
    }));

  it('go on where another one is blocked', async () => {
    provider.answer(whole({ ...chatAnswer, choices: choices([mail, 'Fine.']) }));
    const response = await ask('chat', guarded(), { n: 2 });
    const answer = (await response.json()) as Fields;
    expect(answer['choices']).toMatchObject([
      { index: 0, finish_reason: 'content_filter', message: { refusal: expect.any(String) } },
      { index: 1, finish_reason: 'stop', message: { content: 'Fine.' } },
    ]);
    expect(JSON.stringify(answer)).not.toContain(address);
    expect(answer['usage']).toMatchObject(usage);
  });

  it('go on in a stream', async () => {
    const chunk = (index: number, content: string, finish_reason: string | null = null): string =>
      `data: ${JSON.stringify({ id: 'c', choices: [{ index, delta: { content }, finish_reason }] })}\n\n`;
    const frames = mail
      .split('')
      .flatMap((letter) => [chunk(0, letter), chunk(1, letter === '@' ? '-' : letter)]);
    provider.answer(streamed([...frames, chunk(0, '', 'stop'), chunk(1, '', 'stop'), 'data: [DONE]\n\n']));
    const response = await stream('chat', guarded(), { n: 2 });
    const answer = joined('chat', await response.text());
    expect(answer['choices']).toMatchObject([
      { index: 0, finish_reason: 'content_filter', message: { content: 'Write to ' } },
      { index: 1, finish_reason: 'stop', message: { content: mail.replace('@', '-') } },
    ]);
  });
});

describe('calls of the client’s tools', () => {
  const call = (args: string): Fields => ({
    tool_calls: [{ index: 0, id: 't', type: 'function', function: { name: 'send', arguments: args } }],
  });
  const chunk = (delta: Fields, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const piece = (args: string): string =>
    chunk({ tool_calls: [{ index: 0, function: { arguments: args } }] });
  const json = JSON.stringify({ to: [address], id: 7 });
  const frames = [chunk(call('')), ...json.split('').map(piece), chunk({}, 'tool_calls'), 'data: [DONE]\n\n'];

  it('have masked arguments', async () => {
    provider.answer(streamed(frames));
    const response = await stream('chat', guarded({ action: 'mask' }));
    const text = await response.text();
    expect(joined('chat', text)).toMatchObject({
      choices: [{ message: { tool_calls: [{ function: { arguments: '{"to":["[EMAIL]"],"id":7}' } }] } }],
    });
    expect(text).not.toContain('gmail');
  });

  it('leave as a whole, or not at all', async () => {
    provider.answer(streamed(frames));
    const response = await stream('chat', guarded({ message: 'No addresses.' }));
    const text = await response.text();
    expect(text).not.toContain('tool_calls');
    expect(joined('chat', text)).toMatchObject({
      choices: [{ finish_reason: 'content_filter', message: { refusal: 'No addresses.' } }],
    });
  });

  it('are whole at once in messages', async () => {
    const block = { type: 'tool_use', id: 't', name: 'send', input: { to: address } };
    provider.answer(whole(message([block], { stop_reason: 'tool_use' })));
    const response = await ask('messages', guarded({ action: 'mask' }));
    expect(await response.json()).toMatchObject({ content: [{ input: { to: '[EMAIL]' } }] });
    provider.answer(streamed(messageEvents([block], 'tool_use')));
    const blocked = await stream('messages', guarded());
    const text = await blocked.text();
    expect(text).not.toContain('tool_use');
    expect(framesIn(text).at(-1)?.toString()).toContain('message_stop');
  });
});

it('sends reasoning without its signature where a mask changes it', async () => {
  const thinking = { type: 'thinking', thinking: `Ask ${address} first.`, signature: 'c2ln' };
  provider.answer(streamed(messageEvents([thinking, { type: 'text', text: 'Yes.' }])));
  const response = await stream('messages', guarded({ action: 'mask' }));
  expect(joined('messages', await response.text())).toMatchObject({
    content: [
      { type: 'thinking', thinking: 'Ask [EMAIL] first.', signature: '' },
      { type: 'text', text: 'Yes.' },
    ],
  });
});

it('keeps memory from what a guardrail masks or blocks', async () => {
  const memory = { enabled: true, recallLimit: 3, write: true, analyser: 'simple', minScore: 0.4 };
  harness.agents.set('worker', makeAgent({ key: 'worker', memory }));
  const agent = { model: 'agent:worker' };
  const chat = streamedApis['chat'];
  for (const isStream of [false, true]) {
    harness.memory.turns.length = 0;
    provider.answer(isStream ? streamed(chat?.frames(mail.split('')) ?? []) : whole(chat?.whole(mail)));
    const response = await ask('chat', guarded({ action: 'mask' }), { ...agent, stream: isStream });
    await response.text();
    await eventually(() => expect(harness.memory.turns.at(-1)?.output).toBe(masked));
  }
});

it('continues a stored response with what its client saw', async () => {
  const principal = guarded({ action: 'mask' });
  provider.answer(streamed(streamedApis['responses']?.frames(mail.split('')) ?? []));
  const response = await stream('responses', principal, { store: true });
  const { id } = joined('responses', await response.text());
  const stored = await harness.get(`/v1/responses/${String(id)}`, principal);
  const text = await stored.text();
  expect([stored.status, text]).toEqual([200, expect.stringContaining(masked)]);
  expect(text).not.toContain(address);
});

it('ends an answer that cannot be checked, unless its guardrails are open', async () => {
  const long = 'x'.repeat(3 * 1024 * 1024);
  for (const on_error of ['closed', 'open'] as const) {
    provider.answer(streamed(streamedApis['chat']?.frames([long]) ?? []));
    const response = await stream('chat', guarded({ on_error }));
    const text = await response.text();
    expect(text.includes('content_filter')).toBe(on_error === 'closed');
    expect(text.length > long.length).toBe(on_error === 'open');
    const { guardrails = [] } = await runOf(response);
    expect(guardrails.map(({ outcome }) => outcome)).toEqual([
      on_error === 'closed' ? 'blocked' : 'error',
      'error',
    ]);
  }
});

it('holds a text until its end for a pattern without a bound', async () => {
  const patterns = [{ name: 'Span', regex: '(?s)BEGIN.*END', case_sensitive: true }];
  const check = { type: 'patterns' as const, patterns, words: [] };
  const text = `One BEGIN ${'x'.repeat(600)} END two.`;
  provider.answer(streamed(streamedApis['chat']?.frames(text.match(/.{1,50}/g) ?? []) ?? []));
  const response = await stream('chat', guarded({ check, action: 'mask', hold: 'answer' }));
  expect(streamedApis['chat']?.text(joined('chat', await response.text()))).toBe('One [SPAN] two.');
});

it('ends an answer with sound that nothing can read, if a guardrail says so', async () => {
  const audio = { id: 'a', data: 'UklGRg==', expires_at: 7, transcript: 'Hi.' };
  const choices = [{ index: 0, message: { role: 'assistant', content: null, audio }, finish_reason: 'stop' }];
  for (const unreadable of ['allow', 'block'] as const) {
    provider.answer(whole({ ...chatAnswer, choices }));
    const response = await ask('chat', guarded({ unreadable }));
    const reason = unreadable === 'block' ? 'content_filter' : 'stop';
    expect(await response.json()).toMatchObject({ choices: [{ finish_reason: reason }] });
  }
});

it('ends a blocked answer that is too large for a stream with nothing before the refusal', async () => {
  provider.answer(whole(streamedApis['chat']?.whole(`${'x'.repeat(3 * 1024 * 1024)} ${mail}`)));
  const response = await ask('chat', guarded({ on_error: 'open', message: 'No addresses.' }));
  expect(await response.json()).toMatchObject({
    choices: [{ finish_reason: 'content_filter', message: { content: null, refusal: 'No addresses.' } }],
  });
  expect(await runOf(response)).toMatchObject({ status: 'blocked', output_preview: null });
});
