import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { textEnd } from './json-bytes.ts';
import { JsonScan, scanPieces } from './json-scan.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** Counts commas and opening brackets outside strings. */
function structure(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  const commas = Math.max(0, members.length - 1);
  return 1 + commas + members.reduce((sum: number, member) => sum + structure(member), 0);
}

it('counts what is outside strings, whatever the strings hold', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\\', '"', '\\"', '","', '[{,', '\\\\"'),
  );
  const json = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, text, fc.integer(), fc.constant(null), tie('list'), tie('map')),
    list: fc.array(tie('value'), { maxLength: 5 }),
    map: fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  })).value;
  fc.assert(
    fc.property(json, (value) => {
      const source = JSON.stringify(value);
      const bytes = Buffer.from(source);
      const scan = new JsonScan();
      const cut = Math.floor(bytes.length / 2);
      scan.add(bytes, 0, cut).add(bytes, cut);
      const found = source.match(/"(?:[^"\\]|\\.)*"/g) ?? [];
      expect(scan).toMatchObject({
        values: structure(value),
        texts: found.length,
        escapes: found.join('').match(/\\./g)?.length ?? 0,
        bare: bytes.length - Buffer.byteLength(found.join('')),
        depth: depthOf(value),
      });
    }),
    { numRuns: 500 },
  );
});

it('says which limit is exceeded, and counts long texts as short ones', () => {
  const limits = { values: 10, texts: 10, escapes: 10, bare: 100, depth: 10 };
  const long = 'x'.repeat(3_000_000);
  const exceeds = (json: string) => JsonScan.exceeds(Buffer.from(json), limits);
  expect(exceeds(JSON.stringify([long, `${long}\n${long}`, '\\', long]))).toBeUndefined();
  expect(exceeds(`["${long}${'\\"'.repeat(11)}"]`)).toBe('escapes');
  expect(exceeds(`["${long}", ${'1,'.repeat(11)}1]`)).toBe('values');
  expect(exceeds(`["${long}", ${' '.repeat(101)}]`)).toBe('bare');
  expect(exceeds('[["a"'.repeat(6))).toBe('values');
  expect(exceeds(`${'['.repeat(6)}"${long}"`)).toBeUndefined();
  expect(exceeds('"a"'.repeat(11))).toBe('texts');
  expect(JsonScan.exceeds(Buffer.from('['.repeat(11)), { ...limits, values: 20 })).toBe('depth');
});

it.each(['"', '"\\', '{"a', '[[[', ',,,', ''])('ends on %j, which is no JSON', (text) => {
  expect(new JsonScan().add(Buffer.from(text)).values).toBeLessThan(4);
});

describe('the ends of texts in a large document', () => {
  const texts = fc.array(
    fc.array(fc.constantFrom('"', '\\', 'a', 'é', '\n', 'a long piece of plain text'), { maxLength: 60 }),
  );

  it('are found where they are, also when they are known', () => {
    fc.assert(
      fc.property(texts, (each) => {
        const list = ['x'.repeat(70_000), ...each.map((pieces) => pieces.join(''))];
        const starts = (json: Buffer): number[] => {
          const found: number[] = [];
          for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', textEnd(json, at) + 1))
            found.push(at, textEnd(json, at));
          return found;
        };
        const json = Buffer.from(JSON.stringify(list));
        const searched = starts(json);
        expect([...scanPieces(json)].at(-1)?.texts).toBe(list.length);
        expect(starts(json)).toEqual(searched);
        const read = searched.flatMap((at, index) =>
          index % 2 === 0
            ? [JSON.parse(json.toString('utf8', at, (searched[index + 1] ?? 0) + 1)) as unknown]
            : [],
        );
        expect(read).toEqual(list);
      }),
      { numRuns: 50 },
    );
  });
});
