import { expect, it } from '@jest/globals';
import { byFigure, byText } from './order.ts';

it('texts are in the order of the alphabet', () => {
  expect(['b', 'Ä', 'c', 'a'].toSorted(byText((text) => text))).toEqual(['a', 'Ä', 'b', 'c']);
});

it('the largest figure comes first, and those that are not known last, as they were', () => {
  const rows = [
    { name: 'unknown', figure: null },
    { name: 'ten', figure: 10 },
    { name: 'unknown too', figure: null },
    { name: 'nine', figure: 9 },
    { name: 'none', figure: 0 },
  ];
  const sorted = rows.toSorted(byFigure(({ figure }) => figure));
  expect(sorted.map(({ name }) => name)).toEqual(['ten', 'nine', 'none', 'unknown', 'unknown too']);
});
