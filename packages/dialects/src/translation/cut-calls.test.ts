import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { facts } from '@gatehouse/test/translation-samples';
import { answerIn } from '../../test/translating.ts';
import { WholeToolAnswers, ChunkToolStream } from '../openai-chat/tool-stream.ts';
import { translationBetween } from './translation.ts';

const clients: readonly DialectName[] = ['chat', 'responses', 'messages', 'gemini'];

/** An answer with a whole call, and one that the limit has cut: its JSON lacks members, or its end. */
const blocks = [
  { type: 'text', text: 'Well.' },
  { type: 'tool_use', id: 'a', name: 'first', input: { city: 'Bonn' } },
  { type: 'tool_use', id: 'b', name: 'second', input: { city: 'Bo' } },
];
const message = (content: Fields[], reason = 'max_tokens'): Fields => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'c', content },
  ...{ stop_reason: reason, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 2 } },
});

async function whole(client: DialectName, answer: Fields): Promise<string> {
  const translation = translationBetween(client, 'messages', facts);
  const read = await translation.whole(Buffer.from(JSON.stringify(answer)), null);
  return answerIn(read).bytes.toString();
}

function frame(event: Fields & { type: string }): Buffer {
  return Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

/** The frames of a client for a stream of Anthropic, whose last call ends in the middle of its arguments. */
function streamed(client: DialectName, reason = 'max_tokens'): string {
  const stream = translationBetween(client, 'messages', facts).stream();
  const events = blocks.flatMap((block, index) => {
    const { input, ...start } = { input: undefined, ...block };
    const delta =
      block.type === 'text'
        ? { type: 'text_delta', text: block.text }
        : { type: 'input_json_delta', partial_json: index === 1 ? JSON.stringify(input) : '{"city": "Bo' };
    const content_block = block.type === 'text' ? { ...start, text: '' } : { ...start, input: {} };
    return [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ];
  });
  const all = [
    { type: 'message_start', message: { ...message([]), stop_reason: null } },
    ...events,
    { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ];
  const frames = all.flatMap((event) => stream.frames(frame(event)));
  return [...frames, ...stream.end()].map(String).join('');
}

describe('a call that a limit of tokens has cut', () => {
  it.each(clients.filter((each) => each !== 'messages'))(
    'is left out of a whole answer for %s',
    async (client) => {
      const written = await whole(client, message(blocks));
      for (const each of ['Well.', 'first', 'Bonn']) expect(written).toContain(each);
      expect(written).not.toContain('second');
      expect(written).toMatch(/"length"|"incomplete"|MAX_TOKENS/);
    },
  );

  it('is left out where the context is full, and no whole one is', async () => {
    expect(await whole('chat', message(blocks, 'model_context_window_exceeded'))).not.toContain('second');
    expect(await whole('chat', message(blocks, 'tool_use'))).toContain('second');
    const textBehind = [...blocks, { type: 'text', text: 'And' }];
    expect(await whole('chat', message(textBehind))).toContain('second');
  });

  it('never ends in a stream of Gemini', () => {
    const written = streamed('gemini');
    expect(written).toContain('"name":"first","args":{"city":"Bonn"}');
    expect(written).not.toContain('second');
    expect(written).toContain('MAX_TOKENS');
    expect(streamed('gemini', 'tool_use')).toContain('second');
  });

  it('is never done in a stream of responses', () => {
    const events = streamed('responses')
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map(
        (line) => JSON.parse(line.slice('data: '.length)) as Fields & { item?: Fields; response?: Fields },
      );
    const done = events.filter(({ type }) => type === 'response.output_item.done');
    expect(done.map(({ item }) => item?.['name'] ?? item?.['type'])).toEqual(['message', 'first']);
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { output: [{ type: 'message' }, { name: 'first' }] },
    });
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
  });

  it('ends in a stream of chat completions as with its providers', () => {
    const written = streamed('chat');
    expect(written).toContain('"finish_reason":"length"');
    expect(written.indexOf('second')).toBeLessThan(written.indexOf('"length"'));
  });
});

it('a whole call of Gemini stays before the limit', async () => {
  const answer = {
    candidates: [
      {
        content: { role: 'model', parts: [{ functionCall: { name: 'first', args: { city: 'Bonn' } } }] },
        finishReason: 'MAX_TOKENS',
      },
    ],
  };
  const translation = translationBetween('chat', 'gemini', facts);
  const read = await translation.whole(Buffer.from(JSON.stringify(answer)), null);
  expect(answerIn(read).bytes.toString()).toContain('Bonn');
});

describe("the gateway's own tools in chat completions", () => {
  const call = { index: 0, id: 'a', type: 'function', function: { name: 'own', arguments: '{"a":1}' } };

  it.each([
    ['length', 0],
    ['content_filter', 0],
    ['tool_calls', 1],
    ['stop', 1],
  ])('are called after %s: %i', (reason, count) => {
    const answers = new WholeToolAnswers((name) => name === 'own');
    const choice = { index: 0, finish_reason: reason, message: { role: 'assistant', tool_calls: [call] } };
    expect(answers.add({ choices: [choice] })?.calls).toHaveLength(count);
    expect(answers.shown?.toString()).toContain(`"finish_reason":"${count === 0 ? reason : 'stop'}"`);

    const sent: Buffer[] = [];
    const sink = { write: (frames: readonly Buffer[]) => sent.push(...frames) > 0, onDrain: () => undefined };
    const stream = new ChunkToolStream(sink, (name) => name === 'own');
    const chunk = (delta: Fields, finish: string | null): Buffer =>
      Buffer.from(
        `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
      );
    stream.write([chunk({ role: 'assistant', tool_calls: [call] }, null), chunk({}, reason)]);
    expect(stream.message.calls).toHaveLength(count);
    stream.finish();
    expect(sent.map(String).join('')).toContain(`"finish_reason":"${count === 0 ? reason : 'stop'}"`);
  });
});
