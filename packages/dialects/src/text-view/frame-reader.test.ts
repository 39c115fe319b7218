import type { DialectName } from '@gatehouse/contract/dialects';
import type { Fields } from '@gatehouse/kit/fields';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { called, chunk, dataOf, frameOf, GatheredTexts, item, part } from '../../test/gathered-texts.ts';
import { textOf } from '../translation/fields.ts';

/** Frames of a stream with pieces of a text and of the arguments of a call, and everything that repeats them. */
const streams: Record<DialectName, (texts: readonly string[], args: readonly string[]) => Fields[]> = {
  chat: (texts, args) => [
    ...texts.map((content) => chunk({ content })),
    chunk({
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'send', arguments: '' } }],
    }),
    ...args.map((each) => chunk(called(each))),
    chunk({}, { finish_reason: 'tool_calls' }),
  ],
  responses: (texts, args) => {
    const content = [{ type: 'output_text', text: texts.join(''), annotations: [], logprobs: [] }];
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content };
    const call = {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name: 'send',
      arguments: args.join(''),
    };
    const ofCall = { output_index: 1, item_id: 'fc_1' };
    const response = {
      id: 'resp_1',
      object: 'response',
      instructions: 'Be short.',
      text: { format: { type: 'text' } },
    };
    return [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', ...item, item: { ...message, content: [] } },
      { type: 'response.content_part.added', ...part, part: { ...content[0], text: '' } },
      ...texts.map((delta) => ({ type: 'response.output_text.delta', ...part, delta, obfuscation: 'a' })),
      { type: 'response.output_text.done', ...part, text: texts.join('') },
      { type: 'response.content_part.done', ...part, part: content[0] },
      { type: 'response.output_item.done', ...item, item: message },
      { type: 'response.output_item.added', ...ofCall, item: { ...call, arguments: '' } },
      ...args.map((delta) => ({ type: 'response.function_call_arguments.delta', ...ofCall, delta })),
      { type: 'response.function_call_arguments.done', ...ofCall, arguments: args.join('') },
      { type: 'response.output_item.done', ...ofCall, item: call },
      { type: 'response.completed', response: { ...response, status: 'completed', output: [message, call] } },
    ];
  },
  messages: (texts, args) => [
    {
      type: 'message_start',
      message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: {} },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...texts.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'send', input: {} },
    },
    ...args.map((json) => ({
      ...{ type: 'content_block_delta', index: 1 },
      delta: { type: 'input_json_delta', partial_json: json },
    })),
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ],
  gemini: (texts, args) => [
    ...texts.map((text) => ({ candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }] })),
    {
      candidates: [
        {
          content: {
            role: 'model',
            parts: [{ functionCall: { name: 'send', args: JSON.parse(args.join('')) as unknown } }],
          },
          finishReason: 'STOP',
          index: 0,
        },
      ],
      usageMetadata: { promptTokenCount: 3 },
    },
  ],
};

const names = Object.keys(streams) as DialectName[];

function split(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
/** Texts with a secret in some of them. */
const text = fc
  .array(fc.oneof(fc.constant('a@b.c'), fc.string({ unit: 'grapheme', maxLength: 6 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => `x${parts.join('-')}`);

/** JSON with escapes of characters that need none. */
const escaped = (json: string): string =>
  json.replaceAll(/[@é]/g, (each) => String.raw`\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);

describe.each(names)('the texts of frames of %s', (name) => {
  it('are the same, however they are split, and nothing is written anew without a change', () => {
    fc.assert(
      fc.property(text, text, sizes, (content, argument, each) => {
        const args = escaped(JSON.stringify({ to: argument, n: -12.5 }));
        const frames = streams[name](split(content, each), split(args, each)).map(frameOf);
        const read = new GatheredTexts(name, frames);
        const kinds = [`answer ${content}`, 'tool_call =send', 'tool_call =to', `tool_call ${argument}`];
        expect(read.all.filter((line) => line !== 'tool_call =n')).toEqual([...kinds, 'tool_call -12.5']);
        for (const [index, frame] of read.written().entries()) expect(frame).toBe(frames[index]);
      }),
    );
  });

  it('change in each place, and nothing else changes', () => {
    fc.assert(
      fc.property(text, text, sizes, (content, argument, each) => {
        const json = (to: string, n: unknown): string => escaped(JSON.stringify({ to, n }));
        const frames = streams[name](split(content, each), split(json(argument, 41), each));
        const written = new GatheredTexts(name, frames.map(frameOf))
          .replace('a@b.c', '["E"]')
          .replace('41', 'N')
          .written();
        const by = (from: string): string => from.replaceAll('a@b.c', '["E"]').replaceAll('41', 'N');
        const wanted = streams[name]([by(content)], [json(by(argument), 'N')]);
        expect(written.length).toBe(frames.length);
        expect(textsIn(written.map(dataOf))).toEqual(textsIn(wanted));
        expect(blank(written.map(dataOf))).toEqual(blank(frames));
      }),
    );
  });
});

const textNames = new Set(['content', 'text', 'delta', 'arguments', 'partial_json', 'args']);

/** The texts of the pieces and of each repetition, joined by the types of frames. */
function textsIn(frames: readonly Fields[]): Fields {
  const all: Record<string, unknown> = {};
  const visit = (value: unknown, path: string): void => {
    if (typeof value === 'string' && textNames.has(path.split('.').at(-1) ?? ''))
      all[path] = textOf(all[path]) + value;
    else if (path.endsWith('.args')) all[path] = value;
    else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) visit(inner, `${path}.${key}`);
  };
  for (const frame of frames) visit(frame, textOf(frame['type']));
  for (const [path, value] of Object.entries(all))
    if (typeof value === 'string' && /^\{/.test(value)) all[path] = JSON.parse(value) as unknown;
  return all;
}

/** Frames without their texts. */
function blank(frames: readonly Fields[]): unknown {
  return JSON.parse(
    JSON.stringify(frames, (key, value: unknown) =>
      (typeof value === 'string' && textNames.has(key)) || key === 'args' ? '' : value,
    ),
  ) as unknown;
}
