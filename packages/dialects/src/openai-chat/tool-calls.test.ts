import { describe, expect, it } from '@jest/globals';
import { parseFrame } from './chunks.ts';
import { MessageBuilder } from './message-builder.ts';
import { argumentsObject } from '../tool-arguments.ts';
import { readMessage, type ChatAssistantMessage } from './tool-calls.ts';

it('pieces of an answer never reach the prototype of all objects', () => {
  const frame = (delta: string) => Buffer.from(`data: {"choices":[{"index":0,"delta":${delta}}]}\n\n`);
  const answer = new MessageBuilder();
  for (const delta of [
    '{"content":"hi","__proto__":{"polluted":true}}',
    '{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","__proto__":{"polluted":true}}}]}',
    '{"constructor":{"prototype":{"polluted":true}}}',
  ]) {
    const chunk = (parseFrame(frame(delta)) as { chunk: unknown }).chunk as {
      choices: { delta: Record<string, unknown> }[];
    };
    answer.add(chunk.choices[0]?.delta ?? {});
  }
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  expect(answer.built.message).toMatchObject({ content: 'hi' });
});

type Piece = Record<string, unknown>;
const named = (name: string, args: unknown, more: Piece = {}): Piece => ({
  ...more,
  function: { name, arguments: args },
});
const more = (args: string, rest: Piece = {}): Piece => ({ ...rest, function: { arguments: args } });

/** Names and arguments of the calls in these deltas. */
function streamed(deltas: readonly (Piece | Piece[])[]): string[] {
  const answer = new MessageBuilder();
  for (const delta of deltas) answer.add({ tool_calls: Array.isArray(delta) ? delta : [delta] });
  return shown(answer.built);
}

const shown = ({ calls }: ChatAssistantMessage): string[] =>
  calls.map(({ id, name, argumentsText }) => `${id === '' ? '' : `${id}:`}${name}(${argumentsText})`);

const [a, b] = ['{"p":"a"}', '{"p":"b"}'];

describe('the calls of a stream', () => {
  it.each<[string, (Piece | Piece[])[], string[]]>([
    [
      'in pieces, as OpenAI sends them',
      [
        named('f', '', { index: 0, id: '1' }),
        more('{"p":', { index: 0 }),
        more('"a"}', { index: 0 }),
        named('g', b, { index: 1, id: '2' }),
      ],
      [`1:f(${a})`, `2:g(${b})`],
    ],
    [
      'with one index and ids of their own',
      [named('f', a, { index: 0, id: '1' }), named('f', b, { index: 0, id: '2' })],
      [`1:f(${a})`, `2:f(${b})`],
    ],
    [
      'with one index, in pieces',
      [
        named('f', '', { index: 0, id: '1' }),
        more(a, { index: 0 }),
        named('f', '', { index: 0, id: '2' }),
        more(b, { index: 0 }),
      ],
      [`1:f(${a})`, `2:f(${b})`],
    ],
    [
      'with one index and without ids',
      [named('f', a, { index: 0 }), named('g', b, { index: 0 })],
      [`f(${a})`, `g(${b})`],
    ],
    [
      'with one index, one id and one name',
      [named('f', a, { index: 0, id: '1' }), named('f', b, { index: 0, id: '1' })],
      [`1:f(${a})`, `1:f(${b})`],
    ],
    [
      'whole, without an index',
      [[named('f', a, { id: '1' }), named('f', b, { id: '2' })]],
      [`1:f(${a})`, `2:f(${b})`],
    ],
    [
      'whole, without index and id',
      [[named('f', a), named('f', b)], named('g', a)],
      [`f(${a})`, `f(${b})`, `g(${a})`],
    ],
    ['twice the same, without index and id', [[named('f', '{}'), named('f', '{}')]], ['f({})', 'f({})']],
    [
      'in pieces, with null as index',
      [named('f', '{"p":', { index: null, id: '1' }), more('"a"}', { index: null })],
      [`1:f(${a})`],
    ],
    [
      'in pieces, without an index, with its id in each',
      [named('f', '{"p":', { id: '1' }), more('"a"}', { id: '1' }), named('g', b, { id: '2' })],
      [`1:f(${a})`, `2:g(${b})`],
    ],
    [
      'in pieces that repeat the name',
      [named('f', '{"p":', { index: 0, id: '1' }), named('f', '"a"}', { index: 0, id: '1' })],
      [`1:f(${a})`],
    ],
    [
      'in pieces that each have a new id',
      [named('f', '{"p":', { index: 0, id: '1' }), more('"a"}', { index: 0, id: '2' })],
      [`2:f(${a})`],
    ],
    [
      'with an id that comes later',
      [named('f', '', { index: 0 }), more(a, { index: 0, id: '1' })],
      [`1:f(${a})`],
    ],
    [
      'that come again, whole, at the end',
      [named('f', '', { index: 0, id: '1' }), more(a, { index: 0 }), named('f', a, { index: 0, id: '1' })],
      [`1:f(${a})`],
    ],
    [
      'with an index that is a text',
      [named('f', '{"p":', { index: '0', id: '1' }), more('"a"}', { index: '0' })],
      [`1:f(${a})`],
    ],
    [
      'out of order',
      [named('g', b, { index: 1, id: '2' }), named('f', a, { index: 0, id: '1' })],
      [`1:f(${a})`, `2:g(${b})`],
    ],
    ['with an object as arguments', [named('f', { p: 'a' }, { index: 0, id: '1' })], [`1:f(${a})`]],
    ['with a list as arguments', [named('f', [1], { index: 0, id: '1' })], ['1:f([1])']],
    ['with a number as arguments', [named('f', 7, { index: 0, id: 4 })], ['4:f(7)']],
    ['without a function around them', [{ index: 0, id: '1', name: 'f', input: { p: 'a' } }], [`1:f(${a})`]],
  ])('are distinguished: %s', (_how, deltas, calls) => {
    expect(streamed(deltas)).toEqual(calls);
  });

  it('that have no list, or the shape before lists, are read', () => {
    const [one, old] = [new MessageBuilder(), new MessageBuilder()];
    one.add({ tool_calls: named('f', a, { id: '1' }) });
    old.add({ function_call: { name: 'f', arguments: '{"p":' } });
    old.add({ function_call: { arguments: '"a"}' } });
    expect([shown(one.built), shown(old.built)]).toEqual([[`1:f(${a})`], [`f(${a})`]]);
  });

  it('are no more than a model asks for', () => {
    const many = Array.from({ length: 129 }, (_, index) => named('f', a, { index, id: `${index}` }));
    expect(() => streamed(many)).toThrow('too many');
    expect(() => streamed([many])).toThrow('too many');
    expect(() => readMessage({ choices: [{ message: { tool_calls: many } }] })).toThrow('too many');
    expect(streamed(many.slice(1))).toHaveLength(128);
  });

  it('do not change the pieces that they are put together of', () => {
    const pieces = [more('', { index: 0, id: '1' }), named('f', '{}', { index: 0 })];
    const before = structuredClone(pieces);
    expect(streamed(pieces)).toEqual(['1:f({})']);
    expect(pieces).toEqual(before);
  });

  it('have arguments that are parsed only if that takes no time', () => {
    const startedAt = performance.now();
    const deep = `{"a":[${'[],'.repeat(1_000_000)}[]]}`;
    const said = readMessage({ choices: [{ message: { tool_calls: [named('f', deep), named('g', a)] } }] });
    expect(said?.calls.map(({ argumentsJson }) => argumentsJson)).toEqual([null, a]);
    const long = JSON.stringify({ text: 'x'.repeat(1_000_000) });
    expect(
      readMessage({ choices: [{ message: { tool_calls: [named('f', long)] } }] })?.calls[0]?.argumentsJson,
    ).toBe(long);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it('take time by their length, however many pieces they have', () => {
    const pieces = [
      named('f', '{"p":"', { index: 0, id: '1' }),
      ...Array<Piece>(50_000).fill(more('{}', { index: 0 })),
    ];
    const startedAt = performance.now();
    expect(streamed([...pieces, more('"}', { index: 0 })])[0]?.length).toBeGreaterThan(100_000);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});

describe('the calls of a whole answer', () => {
  const read = (message: object): ChatAssistantMessage | null => readMessage({ choices: [{ message }] });

  it('are read one by one, and go back in OpenAI’s shape', () => {
    const tool_calls = [
      named('f', { p: 'a' }, { index: 0, id: '1' }),
      named('f', b, { index: 0, id: '1' }),
      named(' g ', '{"p":', { id: null, extra_content: { signature: 's' } }),
      null,
    ];
    const said = (read({ content: null, tool_calls }) as ChatAssistantMessage).identified(new Set());
    expect(said.calls.map(({ name, argumentsText }) => name + argumentsText)).toEqual([
      `f${a}`,
      `f${b}`,
      'g{"p":',
    ]);
    const ids = said.calls.map(({ id }) => id);
    expect(ids[0]).toBe('1');
    expect(new Set(ids).size).toBe(3);
    expect(ids.every((id) => id !== '')).toBe(true);
    const back = said.message['tool_calls'] as Piece[];
    expect(back.map(({ id }) => id)).toEqual(ids);
    expect(back.map((call) => [call['type'], (call['function'] as Piece)['arguments']])).toEqual([
      ['function', a],
      ['function', b],
      ['function', '{}'],
    ]);
    expect(back[2]).toMatchObject({ extra_content: { signature: 's' } });
  });

  it('have ids that no earlier call of the run has', () => {
    const used = new Set<string>();
    const ids = [0, 1].map(
      () => read({ tool_calls: [named('f', a, { id: 'call_0' })] })?.identified(used).calls[0]?.id,
    );
    expect(ids[0]).toBe('call_0');
    expect(ids[1]).toMatch(/^call_[0-9a-f]{32}$/);
  });

  it('are none in a message without them', () => {
    for (const message of [
      {},
      { tool_calls: null },
      { tool_calls: [] },
      { tool_calls: 'x', function_call: null },
    ])
      expect(read(message)).toMatchObject({ calls: [] });
    expect(readMessage({ choices: [{ message: null }] })).toBeNull();
  });
});

it('texts and lists of a message that come in pieces are joined', () => {
  const answer = new MessageBuilder();
  const thought = (text: string) => [{ type: 'thinking', thinking: [{ type: 'text', text }] }];
  answer.add({
    role: 'assistant',
    content: thought('H'),
    audio: { id: 'a', data: 'UklG', transcript: 'He' },
  });
  answer.add({ content: thought('m.'), audio: { data: 'Rg==', transcript: 'y.' } });
  answer.add({ content: [{ type: 'text', text: 'Hi' }] });
  expect(answer.built.message).toEqual({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
      { type: 'text', text: 'Hi' },
    ],
    audio: { id: 'a', data: 'UklGRg==', transcript: 'Hey.' },
  });
});

it('a message that is too large to be put together is refused', () => {
  const answer = new MessageBuilder();
  const piece = 'x'.repeat(1024 * 1024);
  expect(() => {
    for (let n = 0; n < 17; n += 1) answer.add({ content: piece });
  }).toThrow('too large');
});

it.each<[string, string | null]>([
  ['', '{}'],
  [' \n', '{}'],
  [a, a],
  [JSON.stringify(a), a],
  ['[1]', null],
  ['7', null],
  ['null', null],
  ['"text"', null],
  ['{"p":', null],
])('the object of the arguments %j is %j', (text, object) => {
  expect(argumentsObject(text)).toBe(object);
});
