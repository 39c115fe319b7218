import { expect, it } from '@jest/globals';
import { nearestNames, nearestSentence } from './nearest-names.ts';

const models = [
  'gpt-4.1',
  'gpt-4.1-mini',
  'o4-mini',
  'claude-sonnet-4-5-20250929',
  'openai/gpt-4.1',
  'gemini',
];

it.each([
  ['gpt-4.1-mni', 'gpt-4.1-mini'],
  ['GPT-4.1-MINI', 'gpt-4.1-mini'],
  ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
  ['vendor/gemini', 'gemini'],
])('the nearest name to %s is %s', (name, nearest) => {
  expect(nearestNames(name, models)[0]).toBe(nearest);
});

it('returns three at most, and compares a bounded number of long names', () => {
  expect(nearestNames('gpt', models)).toHaveLength(3);
  expect(nearestNames('gpt', [])).toEqual([]);
  function* endless(): Generator<string> {
    for (let n = 0; ; n += 1) yield `${'x'.repeat(10_000)}${n}`;
  }
  expect(nearestNames('y'.repeat(1_000_000), endless())).toHaveLength(3);
});

it('writes them as a sentence', () => {
  expect(nearestSentence([])).toBe('');
  expect(nearestSentence(['a'])).toBe(' The nearest name is "a".');
  expect(nearestSentence(['a', 'b"'])).toBe(' The nearest names are "a", "b\\"".');
});
