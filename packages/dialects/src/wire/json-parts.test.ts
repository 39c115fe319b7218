import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { elementRanges, memberRanges, wholeOf, type Range } from './json-parts.ts';

const valueIn = (json: Buffer, { from, until }: Range): unknown =>
  JSON.parse(json.subarray(from, until).toString());

it('finds the members of an object and the elements of an array, as a parser does', async () => {
  const spaces = fc.constantFrom(undefined, 1, '\t');
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), spaces, async (value, space) => {
      const json = Buffer.from(JSON.stringify(value, null, space));
      const members = await memberRanges(json, wholeOf(json), null);
      const found = [...(members ?? [])].map(([name, range]) => [name, valueIn(json, range)] as const);
      expect(Object.fromEntries(found)).toEqual(JSON.parse(json.toString()));
      expect(await elementRanges(json, wholeOf(json), { tenantId: null, max: 9 })).toBeNull();
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 12 }), spaces, async (value, space) => {
      const json = Buffer.from(JSON.stringify(value, null, space));
      const elements = await elementRanges(json, wholeOf(json), { tenantId: null, max: 9 });
      const expected = (JSON.parse(json.toString()) as unknown[]).slice(0, 9);
      expect(elements?.map((range) => valueIn(json, range))).toEqual(expected);
      expect(await memberRanges(json, wholeOf(json), null)).toBeNull();
    }),
  );
});

it('counts the bytes of a name, and no white space around it', async () => {
  const [gap, long] = [' \n'.repeat(300), 'n'.repeat(300)];
  const json = Buffer.from(`{${gap}"a"${gap}:${gap}1${gap},"b" 2:3,${gap}"${long}":4,${gap}"c":5}`);
  const members = await memberRanges(json, wholeOf(json), null);
  const found = [...(members ?? [])].map(([name, range]) => [name, valueIn(json, range)] as const);
  expect(found).toEqual([
    ['a', 1],
    ['c', 5],
  ]);
});

it.each(['', ' ', '"a"', '1', '{', '{"a":1', '{"a":"', '{"a":1}}', '{"a":1}{}', '[1] 2', ']', '{"a":[}'])(
  'finds nothing in %j',
  async (text) => {
    const json = Buffer.from(text);
    expect(await memberRanges(json, wholeOf(json), null)).toBeNull();
    expect(await elementRanges(json, wholeOf(json), { tenantId: null, max: 9 })).toBeNull();
  },
);
