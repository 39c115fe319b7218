import { isDeepStrictEqual } from 'node:util';
import { expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { parsedByTexts, type JsonReader } from './json-long-texts.ts';
import { scanPieces } from './json-scan.ts';
import { atOnce } from './cooperative-steps.ts';

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

/** Checks that JSON is read as `JSON.parse` does, in small parts. */
function expectSmallParts(json: Buffer): void {
  let largest = 0;
  const counting: JsonReader = {
    ...reader,
    decode: (part) => {
      largest = Math.max(largest, part.length);
      return part.toString();
    },
  };
  // Compared by itself, since a difference of long texts takes minutes to print.
  expect(isDeepStrictEqual(read(json, counting), JSON.parse(json.toString()))).toBe(true);
  expect(largest).toBeLessThan(40_000);
}

it('makes no text of all of the JSON', () => {
  const said = Array.from({ length: 20 }, (_, index) => `東\\ "${index}"\n`.repeat(20_000));
  expectSmallParts(Buffer.from(JSON.stringify({ said })));
});

it.each([
  ['characters', String.raw`\u6771`],
  ['surrogate pairs', String.raw`\ud83d\ude00`],
  ['surrogate pairs in capitals', String.raw`\uD83D\uDE00`],
  ['first halves', String.raw`\ud83d`],
  ['second halves', String.raw`\ude00`],
  ['halves in the wrong order', String.raw`\udfff\ud800`],
  ['pairs between halves', String.raw`\udbff\udbff\udc00\udc00`],
  ['all lengths', String.raw`\n\ud83d\ude00東\ud83d\\`],
])('cuts a run of escapes of %s at any place', (_, run) => {
  for (let before = 0; before < run.length; before += 1) {
    const text = `${'x'.repeat(before)}${run.repeat(100_000 / run.length)}`;
    expectSmallParts(Buffer.from(`{"text":["${text}","東"]}`));
  }
});

it('reads halves of surrogate pairs at any places in small parts', () => {
  const plain = fc.tuple(fc.constantFrom('x', '東', '😀', String.raw`\n`), fc.nat({ max: 40_000 }));
  const half = fc.constantFrom(
    String.raw`\ud800`,
    String.raw`\udbff`,
    String.raw`\udc00`,
    String.raw`\udfff`,
  );
  const texts = fc.array(fc.tuple(plain, half), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(texts, plain, (parts, [end, times]) => {
      const text = parts.map(([[unit, count], then]) => unit.repeat(count) + then).join('');
      expectSmallParts(Buffer.from(`["${text}","${text}${end.repeat(times)}"]`));
    }),
    { numRuns: 50 },
  );
});

it('cuts bytes that are no UTF-8', () => {
  expectSmallParts(Buffer.concat([Buffer.from('["'), Buffer.alloc(100_000, 0x80), Buffer.from('"]')]));
});

it('looks for escapes in a text alone, however much follows it', () => {
  const json = Buffer.from(JSON.stringify(Array.from({ length: 400 }, () => 'x'.repeat(5_000))));
  const scan = [...scanPieces(json)].at(-1);
  let searched = 0;
  function search(this: Buffer, byte: number, from: number): number {
    const at = Uint8Array.prototype.indexOf.call(this, byte, from);
    searched += (at < 0 ? this.length : at) - from;
    return at;
  }
  const spy = jest.spyOn(Buffer.prototype, 'indexOf').mockImplementation(search as never);
  atOnce(parsedByTexts(json, scan?.longTexts ?? [], reader));
  spy.mockRestore();
  expect(searched).toBeGreaterThan(json.length / 2);
  expect(searched).toBeLessThan(4 * json.length);
});
