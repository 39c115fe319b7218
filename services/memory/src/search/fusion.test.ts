import { describe, expect, it } from '@jest/globals';
import { byMeaning, closeness, fuse } from './fusion.ts';

const passage = (number: number, score: number) => ({ scopeId: '1', number, score });

describe('the score of two rankings', () => {
  it('is that of the words where a passage has no vector or an unrelated one', () => {
    expect(fuse([passage(1, 1), passage(2, 0.4)], [passage(2, -0.47)])).toEqual([
      { ...passage(1, 1), lexical: 1, semantic: null },
      { ...passage(2, 0.4), lexical: 0.4, semantic: 0 },
    ]);
  });

  it('is that of the meaning where a passage has no word of the query', () => {
    expect(fuse([], [passage(1, 1), passage(2, 0.6)]).map(({ score }) => score)).toEqual([1, closeness(0.6)]);
  });

  it('is higher than each where both speak for a passage', () => {
    const [both] = fuse([passage(1, 0.5)], [passage(1, 0.6)]);
    expect(both?.score).toBeCloseTo(1 - 0.5 * (1 - closeness(0.6)));
  });

  it('orders by the score, and has no passage that nothing speaks for', () => {
    const fused = fuse([passage(1, 0.3)], [passage(2, 0.9), passage(3, 0.1), passage(4, -0.47)]);
    expect(fused.map(({ number }) => number)).toEqual([2, 1]);
  });
});

it('a ranking by meaning has no passage whose vector points the other way', () => {
  expect(byMeaning([passage(1, 0.1), passage(2, -0.47)])).toEqual([
    { ...passage(1, 0), lexical: null, semantic: 0 },
  ]);
});
