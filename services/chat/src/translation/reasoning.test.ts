import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { sealedReasoningMember } from '../dialects/openai/sealed-reasoning.ts';
import { facts } from './samples.ts';
import { writtenIn } from './translating.ts';
import { translationBetween } from './translation.ts';

const thinks = { thinking: { type: 'adaptive' }, max_tokens: 100 };
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] };

async function request(
  from: DialectName,
  to: DialectName,
  fields: Fields,
  name = 'claude-opus-5',
): Promise<Fields> {
  const translation = translationBetween(from, to, { ...facts, name });
  const { body } = await translation.request(Buffer.from(JSON.stringify(fields)), null);
  return JSON.parse(body.toString()) as Fields;
}

async function answer(from: DialectName, to: DialectName, fields: Fields, name: string): Promise<Fields> {
  const bytes = await translationBetween(from, to, { ...facts, name }).whole(
    Buffer.from(JSON.stringify(fields)),
    null,
  );
  return JSON.parse(writtenIn(bytes).toString()) as Fields;
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

async function saidInChat(): Promise<Fields> {
  const { choices } = await answer('chat', 'messages', ofAnthropic, 'claude-opus-5');
  return (choices as { message: Fields }[])[0]?.message ?? {};
}

describe('thoughts of Anthropic for a client of chat completions', () => {
  it('are a text, beside their seals', async () => {
    expect(await saidInChat()).toMatchObject({
      reasoning_content: 'So be it',
      [sealedReasoningMember]: [
        { maker: 'anthropic', seal: 'c2ln', chars: 2 },
        { maker: 'anthropic', seal: 'ZGF0YQ', chars: 0, redacted: true },
        { maker: 'anthropic', seal: 'c2lnMg', chars: 6 },
      ],
    });
  });

  const again = async (said: Fields): Promise<Fields> =>
    request('chat', 'messages', {
      messages: [{ role: 'user', content: 'Go' }, said, { role: 'tool', tool_call_id: 'a', content: 'x' }],
      reasoning_effort: 'low',
    });

  it('go back to it whole with the seals', async () => {
    const body = await again(await saidInChat());
    expect(body['thinking']).toEqual({ type: 'adaptive' });
    expect(body).toMatchObject({ messages: [{}, { content: ofAnthropic.content }, {}] });
  });

  it('stay away without the seals, with thinking off for a turn of calls', async () => {
    const { [sealedReasoningMember]: _seals, ...said } = await saidInChat();
    const body = await again(said);
    expect(body['thinking']).toEqual({ type: 'disabled' });
    expect(body).toMatchObject({ messages: [{}, { content: [{ type: 'tool_use' }] }, {}] });
  });

  it('go to no other provider', async () => {
    const said = await saidInChat();
    const body = await request('chat', 'chat', { messages: [said] }, 'deepseek');
    expect(JSON.stringify(body)).not.toMatch(/So be it|c2ln/);
  });

  it('come in a stream with their seals', () => {
    const stream = translationBetween('chat', 'messages', { ...facts, name: 'claude-opus-5' }).stream();
    const events: (Fields & { type: string })[] = [
      { type: 'message_start', message: { id: 'msg_1', model: 'claude-opus-5', usage: { input_tokens: 1 } } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'So' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'ZGF0YQ' } },
      { type: 'content_block_stop', index: 1 },
    ];
    const frames = events.flatMap((event) =>
      stream.frames(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
    );
    const deltas = frames.map(
      (frame) =>
        (JSON.parse(frame.toString().slice(6)) as { choices: { delta: Fields }[] }).choices[0]?.delta,
    );
    expect(deltas.slice(1)).toEqual([
      { reasoning_content: 'So' },
      { [sealedReasoningMember]: [{ maker: 'anthropic', seal: 'c2ln', chars: 2 }] },
      { [sealedReasoningMember]: [{ maker: 'anthropic', seal: 'ZGF0YQ', chars: 0, redacted: true }] },
    ]);
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
    const { content } = await answer('messages', 'chat', ofServer, 'deepseek-v4.1');
    return { role: 'assistant', content };
  };

  it('are marked with their model, and go back to it alone', async () => {
    const message = await said();
    expect(message).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'So be it', signature: 'gatehouse.chat=deepseek-v4%2E1.t.' },
        {},
      ],
    });
    const fields = { ...thinks, messages: [message, result] };
    const own = await request('messages', 'chat', fields, 'deepseek-v4.1');
    expect(own).toMatchObject({ messages: [{ reasoning_content: 'So be it' }, {}] });
    const other = await request('messages', 'chat', fields, 'qwen');
    expect(JSON.stringify(other)).not.toContain('So be it');
    const anthropic = await request('messages', 'messages', fields);
    expect(JSON.stringify(anthropic)).not.toContain('So be it');
    expect(anthropic['thinking']).toEqual({ type: 'disabled' });
  });

  it("hold none of Anthropic's for the server", async () => {
    const messages = [{ role: 'assistant', content: ofAnthropic.content }, result];
    const body = await request('messages', 'chat', { ...thinks, messages }, 'deepseek');
    expect(JSON.stringify(body)).not.toMatch(/So|be it|c2ln|ZGF0YQ/);
  });
});
