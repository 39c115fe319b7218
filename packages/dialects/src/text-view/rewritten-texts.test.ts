import type { DialectName } from '@gatehouse/contract/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { dialects } from '../dialects.ts';
import type { ViewText } from './source-text.ts';
import { TextView } from './text-view.ts';

type Fields = Record<string, unknown>;

const viewOf = (name: DialectName, body: string | Fields): TextView => {
  const json = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return atOnce(TextView.read(json, dialects[name].texts.request));
};

/** A request with one change of the text with a value. */
const rewritten = (name: DialectName, body: string, [value, by]: readonly [string, string]): string => {
  const view = viewOf(name, body);
  const viewText = view.texts.find((text) => text.value.includes(value));
  if (viewText === undefined) throw new Error('the view has no such text');
  const from = viewText.value.indexOf(value);
  return atOnce(view.rewritten([{ viewText, from, until: from + value.length, text: by }])).toString();
};

describe('a rewritten request', () => {
  it('has changes in arguments, numbers and files, and everything else as it was written', () => {
    const args = String.raw`{ \"to\" : \"\u0061b\\n\\\"c\\\"\", \"n\":12.50e3}`;
    const chat = `{"messages":[ {"content":"x","tool_calls":[{"function":{"arguments":"${args}"}}]}]}`;
    expect(rewritten('chat', chat, ['b\n"', 'B"\n'])).toBe(
      chat.replace(String.raw`b\\n\\\"c`, String.raw`B\\\"\\nc`),
    );
    expect(rewritten('chat', chat, ['12.50e3', '[N]'])).toBe(chat.replace('12.50e3', String.raw`\"[N]\"`));
    const file = (text: string): string =>
      `{"messages":[{"content":[{"file":{"file_data":"data:text/plain;base64,${Buffer.from(text).toString('base64')}"}}]}]}`;
    expect(rewritten('chat', file('Hello you'), ['you', '[NAME]'])).toBe(file('Hello [NAME]'));
    expect(rewritten('chat', String.raw`{"input":"a\ud83d\ude00🎉b\u00e4c"}`, ['äc', ''])).toBe(
      String.raw`{"input":"a\ud83d\ude00🎉b"}`,
    );
  });

  it('refuses a change of a name in the last message', () => {
    expect(() => rewritten('chat', '{"messages":[{"name":"me"}]}', ['me', 'you'])).toThrow('fixed');
  });

  it('differs in the changed texts alone', () => {
    fc.assert(
      fc.property(request, fc.array(change, { maxLength: 6 }), ({ name, body }, changes) => {
        const view = viewOf(name, body);
        const free = view.texts.filter((text) => !text.isFixed && Number.isNaN(Number(text.value)));
        const chosen = new Map<ViewText, { from: number; until: number; text: string }>();
        for (const { at, from, length, text } of changes) {
          const of = free[at % Math.max(1, free.length)];
          if (of === undefined) continue;
          const [begin, end] = onCharacters(of.value, from, length);
          chosen.set(of, { from: begin, until: end, text });
        }
        const edits = [...chosen].map(([viewText, each]) => ({ viewText, ...each }));
        const written = atOnce(view.rewritten(edits)).toString();
        if (chosen.size === 0) expect(written).toBe(body);
        const expected = view.texts
          .map((text) => {
            const edit = chosen.get(text);
            return edit === undefined
              ? text.value
              : text.value.slice(0, edit.from) + edit.text + text.value.slice(edit.until);
          })
          .filter((value) => value !== '');
        expect(viewOf(name, written).texts.map(({ value }) => value)).toEqual(expected);
        const [before, after] = [stringsIn(body), stringsIn(written)];
        expect(after).toHaveLength(before.length);
        expect(after.filter((each, index) => each !== before[index]).length).toBeLessThanOrEqual(chosen.size);
      }),
      { numRuns: 300 },
    );
  });
});

/** Strings of a document as they are written. */
const stringsIn = (json: string): string[] => json.match(/"(?:[^"\\]|\\.)*"/gs) ?? [];

/** A part of a text between characters. */
function onCharacters(value: string, from: number, length: number): [number, number] {
  const characters = Array.from(value);
  const begin = from % (characters.length + 1);
  const before = characters.slice(0, begin).join('').length;
  return [before, before + characters.slice(begin, begin + length).join('').length];
}

const character = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  fc.constantFrom('<', 'é', '🎉', '"', '\\', '\n', '\ud800'),
);
const text = fc.string({ unit: character, minLength: 1, maxLength: 12 }).map((each) => `t${each}`);
const change = fc.record({ at: fc.nat(), from: fc.nat(40), length: fc.nat(8), text });

/** JSON with some characters as escapes. */
const written = (value: unknown, seed: number): string =>
  JSON.stringify(value).replaceAll(/[<>é🎉]/gu, (each, at: number) =>
    (at + seed) % 2 === 0
      ? Array.from({ length: each.length }, (_, unit) => escapeOf(each.charCodeAt(unit))).join('')
      : each,
  );

const escapeOf = (unit: number): string => String.raw`\u${unit.toString(16).padStart(4, '0')}`;

const request = fc
  .record({
    name: fc.constantFrom('chat', 'responses', 'messages', 'gemini'),
    texts: fc.array(text, { minLength: 6, maxLength: 6 }),
    seed: fc.nat(100),
  })
  .map(({ name, texts, seed }) => ({ name, body: written(samples[name](texts), seed) }));

const samples: Record<DialectName, (texts: readonly string[]) => Fields> = {
  chat: ([a, b, c, d, e, f]) => ({
    messages: [
      { role: 'system', content: a },
      { role: 'user', content: [{ type: 'text', text: b }], other: { [String(f)]: c } },
      {
        role: 'assistant',
        tool_calls: [{ id: '1', function: { arguments: JSON.stringify({ x: [d, 1], y: { z: e } }) } }],
      },
    ],
  }),
  responses: ([a, b, c, d, e, f]) => ({
    instructions: a,
    input: [
      { role: 'user', content: b },
      { type: 'function_call', arguments: JSON.stringify([c, { [String(f)]: d }]) },
      { type: 'function_call_output', output: e },
    ],
  }),
  messages: ([a, b, c, d, e, f]) => ({
    system: a,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: b },
          { type: 'tool_result', content: c },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', input: { x: [d, 2], [String(f)]: { y: e } } }] },
    ],
  }),
  gemini: ([a, b, c, d, e, f]) => ({
    systemInstruction: { parts: [{ text: a }] },
    contents: [
      { role: 'user', parts: [{ text: b }, { new_part: { text: c } }] },
      { role: 'model', parts: [{ functionCall: { args: { x: d, y: [e, f] } } }] },
    ],
  }),
};
