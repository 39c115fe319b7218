import { describe, expect, it } from '@jest/globals';
import { AnswerJson } from './answer-json.ts';

/** A text with which an answer is too large to be parsed at once. */
const padding = 'x'.repeat(13 * 2 ** 20);

function json(value: unknown): AnswerJson | Promise<AnswerJson> {
  return AnswerJson.whole(Buffer.from(JSON.stringify(value)), null);
}

describe('the JSON of an answer', () => {
  it.each([
    ['parsed', {}],
    ['large', { padding }],
  ])('has a bounded number of elements, %s', async (_size, fields) => {
    const answer = await json({ ...fields, list: Array.from({ length: 400_000 }, () => 7) });
    const list = await answer.member('list');
    const elements = (await list?.elements(256)) ?? [];
    expect(elements).toHaveLength(256);
    expect(await elements.at(-1)?.value()).toBe(7);
  });

  it('shares its characters among all elements of a list', async () => {
    const elements = await (await json([1, 2, 3, 4])).elements(2);
    expect(elements?.map(({ chars }) => chars)).toEqual([9 / 4, 9 / 4]);
  });

  it('has members of a parsed answer and of a large one', async () => {
    const part = { a: 1, b: [2] };
    for (const fields of [{}, { padding }]) {
      const member = await (await json({ ...fields, part })).member('part');
      expect(await member?.fields(['a', 'b', 'c'])).toEqual(part);
      expect(await (await member?.member('b'))?.value()).toEqual([2]);
      expect(await member?.member('c')).toBeNull();
    }
  });

  it('has the small fields of a part of a large answer, and no parsed part in memory', async () => {
    const list = await (await json({ padding, list: [{ a: 1, b: 2 }] })).member('list');
    const [element] = (await list?.elements(9)) ?? [];
    const fields = await element?.fields(['a']);
    expect(fields).toEqual({ a: 1 });
    expect(await element?.value()).toEqual({ a: 1, b: 2 });
    expect(await element?.fields(['a'])).not.toBe(fields);
  });
});
