import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { maxExcerptChars } from '../bounds.ts';
import { jsonExcerpt } from './json-excerpt.ts';

/** The excerpt, and the mark of a cut. */
const longest = maxExcerptChars + 1;

it('shows a short payload as it is', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const whole = JSON.stringify(value);
      if (whole.length <= maxExcerptChars) expect(jsonExcerpt(value)).toBe(whole);
    }),
  );
});

it('shows of any payload at most so much', () => {
  const big = fc.oneof(
    fc.array(fc.jsonValue(), { minLength: 200, maxLength: 400 }),
    fc.dictionary(fc.string(), fc.string({ minLength: 500, maxLength: 2_000 }), { minKeys: 30 }),
    fc.string({ unit: 'binary', minLength: 9_000, maxLength: 12_000 }),
  );
  fc.assert(
    fc.property(big, (value) => {
      expect(jsonExcerpt(value).length).toBeLessThanOrEqual(longest);
    }),
    { numRuns: 10 },
  );
});

const person = (login: string) => ({
  login,
  ...Object.fromEntries(
    Array.from({ length: 18 }, (_, n) => [`part${n}_url`, `https://api.example.com/${n}`]),
  ),
  site_admin: false,
});

it('shows what a long event is about: beside texts, lists and objects in objects are cut first', () => {
  const asset = (n: number) => ({ name: `asset-${n}.tgz`, label: '', size: n, uploader: person('bot') });
  const release = {
    ...{ author: person('octocat'), tag_name: 'v2.4.0', html_url: 'https://github.com/o/r/releases/v2.4.0' },
    ...{
      assets: Array.from({ length: 60 }, (_, n) => asset(n)),
      body: `Breaking: drops Node 20. ${'x'.repeat(900)}`,
    },
  };
  const text = jsonExcerpt({
    action: 'published',
    release,
    repository: { full_name: 'o/r', owner: person('o') },
  });
  for (const part of [
    'published',
    'octocat',
    'v2.4.0',
    'releases/v2.4.0',
    'drops Node 20',
    'asset-0.tgz',
    '"o/r"',
  ])
    expect(text).toContain(part);
  expect(text).toMatch(/"… \d+ more"/);
  expect(text).not.toContain('api.example.com');
  expect(text.length).toBeLessThanOrEqual(maxExcerptChars);
});

it.each<[string, unknown]>([
  ['a text of a megabyte', 'x'.repeat(2 ** 20)],
  ['a name of a megabyte', { ['x'.repeat(2 ** 20)]: 1 }],
  ['half a million numbers', Array(500_000).fill(1e20)],
  [
    '100,000 members without content',
    Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`n${n}`, null])),
  ],
  ['100,000 members', Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`n${n}`, { a: [n] }]))],
  ['5,000 levels', JSON.parse('['.repeat(5_000) + ']'.repeat(5_000))],
  ['no payload', undefined],
])('is cheap for %s', (_what, value) => {
  const before = performance.now();
  expect(jsonExcerpt(value).length).toBeLessThanOrEqual(longest);
  expect(performance.now() - before).toBeLessThan(3_000);
});

it('cuts no character in two', () => {
  for (const pad of ['', 'x']) expect(jsonExcerpt([pad + '😀'.repeat(9_000)])).not.toContain('\\ud83d');
});
