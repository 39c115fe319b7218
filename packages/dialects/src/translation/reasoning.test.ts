import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { facts, marked } from '@gatehouse/test/translation-samples';
import type { KnownReasoning } from './signed-reasoning.ts';
import { answerIn, ask, writtenIn } from '../../test/translating.ts';
import { translationBetween } from './translation.ts';
import { Pieces } from '../wire/pieces.ts';

const thinks = { thinking: { type: 'adaptive' }, max_tokens: 100 };
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] };

async function request(
  from: DialectName,
  to: DialectName,
  fields: Fields,
  {
    name = 'claude-opus-5',
    betas = [],
    thoughts,
  }: { name?: string; betas?: readonly string[]; thoughts?: KnownReasoning } = {},
): Promise<Fields> {
  const translation = translationBetween(from, to, { ...facts, name, betas });
  const { body } = await translation.request(Pieces.from(Buffer.from(JSON.stringify(fields))), {
    ...{ tenantId: null, ...(thoughts !== undefined && { thoughts }) },
  });
  return JSON.parse(body.toString()) as Fields;
}

async function answer(
  [from, to]: readonly [DialectName, DialectName],
  fields: Fields,
  name: string,
): Promise<{ said: Fields; thoughts: KnownReasoning }> {
  const translation = translationBetween(from, to, { ...facts, name });
  const { bytes, thoughts } = answerIn(await translation.whole(Buffer.from(JSON.stringify(fields)), null));
  return {
    said: JSON.parse(bytes.toString()) as Fields,
    thoughts: new Map(thoughts.map((call) => [call.id, call.thoughts])),
  };
}

const ofAnthropic = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-5', stop_reason: 'tool_use' },
  content: [
    { type: 'thinking', thinking: 'So', signature: 'c2ln' },
    { type: 'redacted_thinking', data: 'ZGF0YQ' },
    { type: 'thinking', thinking: ' be it', signature: 'c2lnMg' },
    { type: 'tool_use', id: 'a', name: 'f', input: {} },
  ],
  usage: { input_tokens: 1, output_tokens: 1 },
};

/** The message that a client of chat completions gets, and the thoughts that the gateway keeps. */
async function saidInChat(
  fields: Fields = ofAnthropic,
  upstream: DialectName = 'messages',
): Promise<{ message: Fields; thoughts: KnownReasoning }> {
  const { said, thoughts } = await answer(['chat', upstream], fields, 'claude-opus-5');
  return { message: (said['choices'] as { message: Fields }[])[0]?.message ?? {}, thoughts };
}

/** A signature of Anthropic's, as it is kept. */
const kept = (text: string, signature: string, isRedacted = false): Fields => ({
  ...{ text, isFirst: true },
  signature: { origin: 'anthropic', text: signature, isRedacted },
});

describe('thoughts of Anthropic for a client of chat completions', () => {
  it('are a text, and their signatures are kept by the call behind them', async () => {
    const { message, thoughts } = await saidInChat();
    expect(message).toMatchObject({ reasoning_content: 'So be it' });
    expect(JSON.stringify(message)).not.toMatch(/c2ln|ZGF0YQ/);
    expect([...thoughts]).toEqual([
      ['a', [kept('So', 'c2ln'), kept('', 'ZGF0YQ', true), kept(' be it', 'c2lnMg')]],
    ]);
  });

  const asked = (said: Fields): Fields => ({
    messages: [{ role: 'user', content: 'Go' }, said, { role: 'tool', tool_call_id: 'a', content: 'x' }],
    reasoning_effort: 'low',
  });

  it('go back to it whole with the signatures', async () => {
    const { message, thoughts } = await saidInChat();
    const body = await request('chat', 'messages', asked(message), { thoughts });
    expect(body['thinking']).toEqual({ type: 'adaptive' });
    expect(body).toMatchObject({ messages: [{}, { content: ofAnthropic.content }, {}] });
  });

  it('go back to a model that binds them, which may leave them out', async () => {
    const { message, thoughts } = await saidInChat();
    const name = 'claude-opus-5-5';
    const betas = ['thinking-binding-controls-2026-08-01'];
    const body = await request('chat', 'messages', asked(message), { name, betas, thoughts });
    const block_binding = { prefix_mismatch_behavior: 'drop_block' };
    expect(body['thinking']).toEqual({ type: 'adaptive', block_binding });
    expect(body).toMatchObject({ messages: [{}, { content: ofAnthropic.content }, {}] });
    const without = await request('chat', 'messages', asked(message), { name, thoughts });
    expect(without).toMatchObject({ thinking: { type: 'adaptive' } });
    expect(JSON.stringify(without)).not.toContain('c2ln');
    // Also where its thinking was to be off, and can't be.
    const off = { ...asked(message), reasoning_effort: 'none' };
    const least = await request('chat', 'messages', off, { name, betas, thoughts });
    expect(least).toMatchObject({ thinking: { block_binding }, output_config: { effort: 'low' } });
    expect(JSON.stringify(await request('chat', 'messages', off, { name, thoughts }))).not.toContain('c2ln');
  });

  it('stay away without the signatures, with thinking off for a turn of calls', async () => {
    const { message } = await saidInChat();
    const body = await request('chat', 'messages', asked(message), { name: 'claude-sonnet-4-5' });
    expect(body['thinking']).toEqual({ type: 'disabled' });
    const newer = await request('chat', 'messages', asked(message));
    expect(newer['thinking']).toEqual({ type: 'disabled' });
    // Its thinking can't be off.
    const newest = await request('chat', 'messages', asked(message), { name: 'claude-opus-5-5' });
    expect(newest['thinking']).toEqual({ type: 'adaptive' });
    expect(body).toMatchObject({ messages: [{}, { content: [{ type: 'tool_use' }] }, {}] });
  });

  it.each(['chat', 'responses', 'gemini'] as const)('go to no provider of %s', async (upstream) => {
    const { message, thoughts } = await saidInChat();
    const body = await request('chat', upstream, asked(message), { name: 'deepseek', thoughts });
    expect(JSON.stringify(body)).not.toMatch(/So be it|c2ln/);
  });

  it('are collected from a stream', () => {
    const stream = translationBetween('chat', 'messages', { ...facts, name: 'claude-opus-5' }).stream();
    const block = (index: number, content_block: Fields, ...deltas: Fields[]): Fields[] => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
    const call = (id: string): Fields => ({ type: 'tool_use', id, name: 'f', input: {} });
    const thinking = { type: 'thinking', thinking: '', signature: '' };
    const thought = (text: string): Fields => ({ type: 'thinking_delta', thinking: text });
    const signed = (signature: string): Fields => ({ type: 'signature_delta', signature });
    const events = [
      { type: 'message_start', message: { id: 'msg_1', model: 'claude-opus-5', usage: { input_tokens: 1 } } },
      ...block(0, thinking, thought('S'), thought('o'), signed('c2ln')),
      ...block(1, { type: 'redacted_thinking', data: 'ZGF0YQ' }),
      ...block(2, { type: 'text', text: '' }, { type: 'text_delta', text: 'I look.' }),
      ...block(3, call('a')),
      ...block(4, thinking, thought('And'), signed('c2lnMg')),
      ...block(5, call('b')),
    ];
    const frames = events.flatMap((event) =>
      stream.frames(Buffer.from(`event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`)),
    );
    expect(Buffer.concat(frames).toString()).not.toMatch(/c2ln|ZGF0YQ/);
    expect(stream.thoughts).toEqual([
      { id: 'a', name: 'f', thoughts: [kept('So', 'c2ln'), kept('', 'ZGF0YQ', true)] },
      { id: 'b', name: 'f', thoughts: [{ ...kept('And', 'c2lnMg'), isFirst: false }] },
    ]);
  });

  it('are not kept of an answer with more of them than any model has', async () => {
    const content = [
      ...Array.from({ length: 2 }, () => ({
        type: 'thinking',
        thinking: 'x'.repeat(600_000),
        signature: 's',
      })),
      ofAnthropic.content[3],
    ];
    expect((await saidInChat({ ...ofAnthropic, content })).thoughts.size).toBe(0);
  });
});

describe('thoughts of other vendors for a client of chat completions', () => {
  const ofGoogle = {
    candidates: [
      {
        finishReason: 'STOP',
        content: {
          role: 'model',
          parts: [
            { text: 'So', thought: true },
            { text: 'I look.' },
            { functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' },
            { functionCall: { name: 'g', args: {} } },
          ],
        },
      },
    ],
  };
  const results = (message: Fields): Fields[] =>
    (message['tool_calls'] as { id: string }[]).map(({ id }) => ({
      ...{ role: 'tool', tool_call_id: id, content: 'x' },
    }));

  it("of Google's go back to the call that they were signed with", async () => {
    const { message, thoughts } = await saidInChat(ofGoogle, 'gemini');
    const messages = [{ role: 'user', content: 'Go' }, message, ...results(message)];
    const { contents } = await request('chat', 'gemini', { messages }, { name: 'gemini-3-pro', thoughts });
    const call = (name: string): Fields => ({ functionCall: { name, args: {} } });
    expect((contents as unknown[])[1]).toEqual({
      role: 'model',
      parts: [{ text: 'I look.' }, { ...call('f'), thoughtSignature: 'c2ln' }, call('g')],
    });
    const without = await request('chat', 'gemini', { messages }, { name: 'gemini-3-pro' });
    expect(without).toMatchObject({
      contents: [
        {},
        { parts: [{}, { ...call('f'), thoughtSignature: 'skip_thought_signature_validator' }, call('g')] },
        {},
      ],
    });
  });

  it("of Google's have ids of their own in each answer", async () => {
    const ids = await Promise.all(
      [1, 2].map(async () => [...(await saidInChat(ofGoogle, 'gemini')).thoughts]),
    );
    expect(new Set(ids.flat().map(([id]) => id)).size).toBe(4);
  });

  it("of OpenAI's go back to the account that encrypted them", async () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc-1' };
    const call = { type: 'function_call', call_id: 'call_a', name: 'f', arguments: '{}' };
    const response = { id: 'resp_1', status: 'completed', output: [reasoning, call] };
    const { message, thoughts } = await saidInChat(response, 'responses');
    const messages = [{ role: 'user', content: 'Go' }, message, ...results(message)];
    const body = await request('chat', 'responses', { messages }, { name: 'gpt-6', thoughts });
    expect(body).toMatchObject({
      input: [{}, { type: 'reasoning', encrypted_content: 'enc-1' }, { call_id: 'call_a' }, {}],
    });
    const other = translationBetween('chat', 'responses', { ...facts, account: 'other' });
    const sent = await other.request(Pieces.from(Buffer.from(JSON.stringify({ messages }))), {
      tenantId: null,
      thoughts,
    });
    expect(sent.body.toString()).not.toContain('enc-1');
  });
});

describe('encrypted thoughts of one account for a client of messages', () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc-1' };
  const call = { type: 'function_call', call_id: 'call_a', name: 'f', arguments: '{}' };
  const response = { id: 'resp_1', status: 'completed', output: [reasoning, call] };
  const events = [{ type: 'response.completed', response }];
  const at = (account: string) => translationBetween('messages', 'responses', { ...facts, account });
  const whole = async (): Promise<string> =>
    writtenIn(await at('one').whole(Buffer.from(JSON.stringify(response)), null)).toString();
  const stream = (): string => {
    const translated = at('one').stream();
    return events
      .flatMap((event) => translated.frames(Buffer.from(`data: ${JSON.stringify(event)}\n\n`)))
      .join('');
  };

  it.each([
    ['a whole answer', whole],
    ['a stream', stream],
  ])('go back to it, and to no other one: %s', async (_name, answered) => {
    const [signature] = /gatehouse\.openai=one:k:[\w-]+\.t\.rs_1:enc-1/.exec(await answered()) ?? [];
    const thought = { type: 'thinking', thinking: '', signature };
    const messages = [{ role: 'assistant', content: [thought, { type: 'text', text: 'x' }] }, ...ask];
    const sentTo = async (account: string): Promise<string> => {
      const body = Buffer.from(JSON.stringify({ messages, max_tokens: 9 }));
      return (await at(account).request(Pieces.from(body), { tenantId: null })).body.toString();
    };
    expect(await sentTo('one')).toContain('"id":"rs_1","encrypted_content":"enc-1"');
    expect(await sentTo('two')).not.toContain('enc-1');
  });
});

describe('a signature beside a call of one server for a client of messages', () => {
  const extra_content = { google: { thought_signature: 'c2ln' } };
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content };
  const calling = { role: 'assistant', reasoning_content: 'So', tool_calls: [{ index: 0, ...call }] };
  const answer = (name: 'message' | 'delta') => ({
    ...{ id: 'chatcmpl-1', object: 'chat.completion', model: 'm-1' },
    choices: [{ index: 0, finish_reason: 'tool_calls', [name]: calling }],
  });
  const at = (account: string) => translationBetween('messages', 'chat', { ...facts, account });
  const whole = async (): Promise<string> =>
    writtenIn(await at('one').whole(Buffer.from(JSON.stringify(answer('message'))), null)).toString();
  const stream = (): string => {
    const translated = at('one').stream();
    const frames = [JSON.stringify(answer('delta')), '[DONE]'].map((data) =>
      Buffer.from(`data: ${data}\n\n`),
    );
    return frames.flatMap((frame) => translated.frames(frame)).join('');
  };

  it.each([
    ['a whole answer', whole],
    ['a stream', stream],
  ])('goes back to it, and to no other one: %s', async (_name, answered) => {
    const text = await answered();
    const signatures = [...text.matchAll(/"signature": ?("gatehouse(?:[^"\\]|\\.)+")/g)];
    const [plain, signed] = signatures.map(([, json]) => JSON.parse(json ?? '') as string);
    const content = [
      { type: 'thinking', thinking: 'So', signature: plain },
      { type: 'thinking', thinking: '', signature: signed },
      { type: 'tool_use', id: 'a', name: 'f', input: {} },
    ];
    const messages = [{ role: 'assistant', content }, result];
    const sentTo = async (account: string): Promise<string> => {
      const body = Buffer.from(JSON.stringify({ messages, max_tokens: 9 }));
      return (await at(account).request(Pieces.from(body), { tenantId: null })).body.toString();
    };
    expect(await sentTo('one')).toContain(JSON.stringify({ extra_content }).slice(1, -1));
    expect(await sentTo('two')).not.toContain('c2ln');
    // Text without a signature is the same at each server of the model.
    for (const account of ['one', 'two']) expect(await sentTo(account)).toContain('"reasoning_content":"So"');
  });
});

describe('thoughts of a model of chat completions for a client of messages', () => {
  const ofServer = {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', model: 'deepseek' },
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          ...{ role: 'assistant', content: null, reasoning_content: 'So be it' },
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
      },
    ],
  };
  const said = async (): Promise<Fields> => {
    const { said: message } = await answer(['messages', 'chat'], ofServer, 'deepseek-v4.1');
    return { role: 'assistant', content: message['content'] };
  };

  it('are marked with their model, and go back to it alone', async () => {
    const message = await said();
    expect(message).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'So be it', signature: marked('chat=deepseek-v4%2E1', '') },
        {},
      ],
    });
    const fields = { ...thinks, messages: [message, result] };
    const own = await request('messages', 'chat', fields, { name: 'deepseek-v4.1' });
    expect(own).toMatchObject({ messages: [{ reasoning_content: 'So be it' }, {}] });
    const other = await request('messages', 'chat', fields, { name: 'qwen' });
    expect(JSON.stringify(other)).not.toContain('So be it');
    const anthropic = await request('messages', 'messages', fields);
    expect(JSON.stringify(anthropic)).not.toContain('So be it');
    expect(anthropic['thinking']).toEqual({ type: 'disabled' });
  });

  it("hold none of Anthropic's for the server", async () => {
    const messages = [{ role: 'assistant', content: ofAnthropic.content }, result];
    const body = await request('messages', 'chat', { ...thinks, messages }, { name: 'deepseek' });
    expect(JSON.stringify(body)).not.toMatch(/So|be it|c2ln|ZGF0YQ/);
  });
});
