import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parsedByTexts, type JsonReader } from './json-long-texts.ts';
import { scanPieces } from './json-scan.ts';
import { atOnce } from './steps.ts';

const reader: JsonReader = {
  decode: (json) => json.toString(),
  parse: (text) => JSON.parse(text) as unknown,
};

function read(json: Buffer, by = reader): unknown {
  const scan = [...scanPieces(json)].at(-1);
  return atOnce(parsedByTexts(json, scan?.longTexts ?? [], by));
}

const units = fc.constantFrom(
  'a',
  '"',
  '\\',
  '\n',
  'é',
  '東',
  '😀',
  '\ud83d',
  '\ude00',
  '\0',
  '\u2028',
  '\\u0041',
);
const long = fc
  .tuple(fc.array(units, { minLength: 1, maxLength: 40 }), fc.integer({ min: 100, max: 9_000 }))
  .map(([all, times]) => all.join('').repeat(times));
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    long,
    fc.string(),
    fc.integer(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__'), long), tie('value'), { maxKeys: 4 }),
  ),
})).value;

it('reads what JSON.parse reads', () => {
  fc.assert(
    fc.property(values, fc.boolean(), (value, isEscaped) => {
      const text = JSON.stringify(value);
      const written = isEscaped ? text.replaceAll(/[^ -~]/g, escape) : text;
      expect(read(Buffer.from(written))).toStrictEqual(JSON.parse(written));
    }),
    { numRuns: 150 },
  );
});

function escape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

it.each([
  ['a control character', `{"a":"${'x'.repeat(40_000)}\n"}`],
  ['an unknown escape', `{"a":"${'x'.repeat(40_000)}\\q"}`],
  ['something behind it', `{"a":"${'x'.repeat(40_000)}"b}`],
])('refuses a long text with %s', (_, json) => {
  expect(() => read(Buffer.from(json))).toThrow(SyntaxError);
});

it('makes no text of all of the JSON', () => {
  const sizes: number[] = [];
  const counting: JsonReader = {
    ...reader,
    decode: (json) => {
      sizes.push(json.length);
      return json.toString();
    },
  };
  const said = Array.from({ length: 20 }, (_, index) => `東\\ "${index}"\n`.repeat(20_000));
  expect(read(Buffer.from(JSON.stringify({ said })), counting)).toEqual({ said });
  expect(Math.max(...sizes)).toBeLessThan(40_000);
});
