import { describe, expect, it } from '@jest/globals';
import { entryOf, packEntries, withoutPassages } from './postings.ts';
import { planQuery, rank } from './ranking.ts';

const word = (term: string, passages: number) => ({ term, passages, weight: 1, needed: true });

describe('the plan of a query', () => {
  it('weighs rare terms more, and leaves out those that no passage has', () => {
    const { weights } = planQuery([word('common', 900), word('none', 0), word('rare', 1)], 1_000, 10_000);
    expect([...weights.keys()]).toEqual(['rare', 'common']);
    expect(weights.get('rare')).toBeGreaterThan(10 * (weights.get('common') ?? 0));
    expect(weights.get('common')).toBeGreaterThan(0);
  });

  it('finds by the rarest terms that the budget allows, and by one at least', () => {
    const found = [word('a', 500), word('b', 90), word('c', 10)];
    const planned = (budget: number) => [...planQuery(found, 1_000, budget).weights.keys()];
    expect(planned(1_000)).toEqual(['c', 'b', 'a']);
    expect(planned(100)).toEqual(['c', 'b']);
    expect(planned(1)).toEqual(['c']);
  });
});

const posting = (
  term: string,
  block: number,
  entries: { number: number; count: number; length: number }[],
) => ({
  scopeId: '1',
  term,
  block,
  entries: packEntries(entries.map(entryOf)),
});

describe('the ranking', () => {
  const plan = planQuery([word('a', 2), word('b', 2)], 10, 100);

  it('puts passages with more terms, more often and in fewer words, first', () => {
    const ranked = rank(
      [
        posting('a', 0, [
          { number: 1, count: 1, length: 10 },
          { number: 1_023, count: 1, length: 10 },
        ]),
        posting('b', 0, [{ number: 1_023, count: 2, length: 10 }]),
        posting('b', 2, [{ number: 2_049, count: 1, length: 1_000 }]),
      ],
      plan,
      10,
    ).top(10);
    expect(ranked.map(({ number }) => number)).toEqual([1_023, 1, 2_049]);
    for (const { score } of ranked) expect([score > 0, score < 1]).toEqual([true, true]);
  });

  it('takes the latest of equals first', () => {
    const same = { count: 1, length: 5 };
    const ranked = rank(
      [
        posting('a', 0, [
          { number: 3, ...same },
          { number: 4, ...same },
        ]),
      ],
      plan,
      5,
    ).top(10);
    expect(ranked.map(({ number }) => number)).toEqual([4, 3]);
  });
});

describe('the score', () => {
  const scored = (found: { term: string; passages: number; weight: number; needed: boolean }[]) =>
    rank([posting('a', 0, [{ number: 1, count: 1, length: 10 }])], planQuery(found, 10, 100), 10).top(1)[0]
      ?.score ?? 0;

  it('is 0.9 for a passage of average length with each word of the query', () => {
    expect(scored([word('a', 1)])).toBeCloseTo(0.9);
  });

  it('is lower where words of the query are missing, in the passage or everywhere, and never above 1', () => {
    expect(scored([word('a', 1), word('b', 1)])).toBeCloseTo(0.45);
    const one = scored([word('a', 1), word('none', 0)]);
    const two = scored([word('a', 1), word('none', 0), word('neither', 0)]);
    expect([one > 0.45, one < 0.9, two < one]).toEqual([true, true, true]);
    expect(scored([word('a', 1), { ...word('a form of a', 0), needed: false }])).toBeCloseTo(0.9);
    const plan = planQuery([word('a', 1)], 10, 100);
    const often = [posting('a', 0, [{ number: 1, count: 63, length: 10 }])];
    const [most] = rank(often, plan, 10).top(1);
    expect([(most?.score ?? 0) > 0.9, (most?.score ?? 2) < 1]).toEqual([true, true]);
  });
});

describe('the score of a chatty message', () => {
  const missing = (count: number) => Array.from({ length: count }, (_, index) => word(`missing-${index}`, 0));
  const scoreAmong = (passages: number, terms: Parameters<typeof planQuery>[0]) =>
    rank([posting('a', 0, [{ number: 1, count: 1, length: 10 }])], planQuery(terms, passages, 100), 10).top(
      1,
    )[0]?.score ?? 0;

  it('is as high in a memory of one passage as in one of fifty', () => {
    const terms = [word('a', 1), ...missing(5)];
    expect(scoreAmong(1, terms)).toBe(scoreAmong(50, terms));
    expect(scoreAmong(1, terms)).toBeGreaterThan(0.3);
    expect(scoreAmong(50, terms)).toBeLessThan(scoreAmong(1_000, terms) * 1.2);
  });

  it('falls no further with more than seven words that no passage has', () => {
    const scores = [3, 7, 8, 60].map((count) => scoreAmong(1, [word('a', 1), ...missing(count)]));
    expect(scores[0]).toBeGreaterThan(scores[1] ?? 1);
    expect(scores.slice(2)).toEqual([scores[1], scores[1]]);
  });

  it('counts the rarest of the words that passages have', () => {
    const rare = [word('a', 1), word('b', 1), word('c', 2), word('d', 2)];
    const common = Array.from({ length: 20 }, (_, index) => word(`common-${index}`, 900));
    const [alone, beside] = [rare, [...rare, ...common]].map((terms) => scoreAmong(1_000, terms));
    expect((alone ?? 0) - (beside ?? 0)).toBeLessThan(0.02);
  });

  it('is 1 at most for a passage with all of many words', () => {
    const names = Array.from({ length: 40 }, (_, index) => String(index));
    const plan = planQuery(
      names.map((name) => word(name, 1)),
      1,
      100,
    );
    const postings = names.map((name) => posting(name, 0, [{ number: 1, count: 9, length: 50 }]));
    expect(rank(postings, plan, 50).top(1)[0]?.score).toBe(1);
  });
});

describe('the first passages', () => {
  it('are the same as of all passages in order, whatever the order of their scores', () => {
    const entries = (count: (number: number) => number) =>
      Array.from({ length: 1_000 }, (_, number) => ({ number, count: count(number), length: 10 }));
    for (const count of [
      (n: number) => 1 + (n % 60),
      (n: number) => 1 + Math.floor(n / 20),
      (n: number) => 61 - Math.floor(n / 20),
    ]) {
      const ranking = rank(
        [posting('a', 0, entries(count))],
        planQuery([word('a', 1_000)], 2_000, 1_000),
        10,
      );
      const all = ranking.top(Infinity);
      expect(all).toHaveLength(1_000);
      expect(all).toEqual(all.toSorted((a, b) => b.score - a.score || b.number - a.number));
      for (const limit of [1, 7, 500, 1_000, 2_000]) expect(ranking.top(limit)).toEqual(all.slice(0, limit));
    }
  });
});

describe('postings', () => {
  it('lose only the passages that are taken out, and hold the largest counts and lengths', () => {
    const largest = { number: 1_023, count: 63, length: 65_535 };
    expect(entryOf({ number: 2_047, count: 1_000, length: 100_000 })).toBe(entryOf(largest));
    const packed = packEntries([entryOf({ number: 0, count: 1, length: 1 }), entryOf(largest)]);
    expect(withoutPassages(packed, new Set([0]))).toEqual(packEntries([entryOf(largest)]));
    expect(withoutPassages(packed, new Set([0, 1_023]))).toHaveLength(0);
  });
});
