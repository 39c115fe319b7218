import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ArgumentTexts, type ArgumentText } from './argument-texts.ts';

type Read = Pick<ArgumentText, 'type' | 'value'>;

/** The texts of arguments that arrive in pieces. */
function textsOf(pieces: readonly string[]): Read[] {
  const reader = new ArgumentTexts();
  const texts: Read[] = [];
  for (const { index, type, value } of pieces.flatMap((piece) => reader.read(piece)))
    texts[index] = { type, value: (texts[index]?.value ?? '') + value };
  return texts;
}

/** The same of a parsed value. */
function leavesOf(value: unknown): Read[] {
  if (typeof value === 'string') return [{ type: 'string', value }];
  if (typeof value !== 'object' || value === null) return [{ type: 'bare', value: JSON.stringify(value) }];
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  return Object.entries(value).flatMap(([name, each]) => [{ type: 'name', value: name }, ...leavesOf(each)]);
}

function split(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  let at = 0;
  for (let turn = 0; at < text.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

const value = fc
  .jsonValue({ maxDepth: 4 })
  .map((inner) => ({ inner, '"é\n🎉': ['\u0000\\"', -1.5e-7, null] }));
const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 });

/** JSON with escapes of characters that need none. */
const escaped = (json: string): string =>
  json.replaceAll(/[é🎉]/gu, (each) =>
    Array.from({ length: each.length }, (_, unit) => escapeOf(each.charCodeAt(unit))).join(''),
  );

const escapeOf = (unit: number): string => String.raw`\u${unit.toString(16).padStart(4, '0')}`;

describe('the texts of arguments', () => {
  it('are those of the whole, however they are split', () => {
    fc.assert(
      fc.property(value, sizes, fc.constantFrom(undefined, 2), (whole, each, space) => {
        const json = escaped(JSON.stringify(whole, null, space));
        expect(textsOf(split(json, each))).toEqual(leavesOf(JSON.parse(json)));
      }),
    );
  });

  it('have the source of each character in its piece', () => {
    fc.assert(
      fc.property(value, sizes, (whole, each) => {
        const reader = new ArgumentTexts();
        const removed = split(JSON.stringify(whole), each).map((piece) => {
          const texts = reader.read(piece).filter(({ type }) => type !== 'bare');
          const left = piece.slice(0, reader.openFrom ?? piece.length);
          return texts.reduceRight((rest, { from, until }) => rest.slice(0, from) + rest.slice(until), left);
        });
        const strings = leavesOf(JSON.parse(removed.join(''))).filter(({ type }) => type !== 'bare');
        expect(strings.map((text) => text.value).join('')).toBe('');
      }),
    );
  });

  it('are read up to a bound of work', () => {
    for (const json of [
      `[${','.repeat(200_000)}]`,
      `["${String.raw`\n`.repeat(120_000)}"]`,
      `[${'1,'.repeat(30_000)}1]`,
    ])
      expect(() => new ArgumentTexts().read(json)).toThrow(/^the arguments of a call have too m/);
    expect(new ArgumentTexts().read(`{"a":${' '.repeat(200_000)}"b"}`).length).toBe(4);
  });

  it('are one text without JSON', () => {
    expect(textsOf([' Say "h', 'i" {now}'])).toEqual([{ type: 'string', value: 'Say "hi" {now}' }]);
  });

  it('have words outside of strings, where JSON is broken', () => {
    expect(textsOf(['{to: somebody@exam', 'ple.org, n'])).toEqual([
      { type: 'bare', value: 'to' },
      { type: 'bare', value: 'somebody@example.org' },
      { type: 'bare', value: 'n' },
    ]);
  });

  it('are open within an escape alone', () => {
    const reader = new ArgumentTexts();
    const open = ['["a', 'b\\', 'u00', 'e9', '"]'].map((piece) => {
      reader.read(piece);
      return reader.openFrom;
    });
    expect(open).toEqual([null, 1, 0, null, null]);
  });
});
