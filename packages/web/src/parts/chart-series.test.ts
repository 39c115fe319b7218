import { expect, it } from '@jest/globals';
import { mostColours } from '../bounds.ts';
import { drawnSeries, orderedGroups, type Bar } from './chart-series.ts';

const bar = (label: string, values: Record<string, number>): Bar => ({
  label,
  segments: Object.entries(values).map(([group, value]) => ({
    ...{ group: { id: group, name: group }, value },
    ...{ text: String(value), exact: String(value) },
  })),
});

it('groups with most have the first colours, at the bottom of each bar', () => {
  const bars = [bar('Monday', { small: 1, large: 5 }), bar('Tuesday', { large: 2 })];
  const groups = orderedGroups(bars);
  expect(groups.map(({ name }) => name)).toEqual(['large', 'small']);
  expect(drawnSeries(bars, groups)).toEqual([
    { colour: 0, values: [5, 2] },
    { colour: 1, values: [1, 0] },
  ]);
});

it('groups beyond the colours are drawn as one', () => {
  const many = Object.fromEntries(Array.from({ length: mostColours + 3 }, (_, index) => [`g${index}`, 1]));
  const bars = [bar('Monday', many)];
  const drawn = drawnSeries(bars, orderedGroups(bars));
  expect(drawn).toHaveLength(mostColours + 1);
  expect(drawn.at(-1)).toEqual({ colour: mostColours, values: [3] });
});

it('groups of one name are apart, with their own colours and the ends of their ids', () => {
  const keys = ['0198c2b0-0000-7000-8000-00000000000a', '0198c2b0-0000-7000-8000-00000000000b'];
  const segments = keys.map((id, index) => ({
    ...{ group: { id, name: 'Notebook' }, value: index + 1, text: '', exact: '' },
  }));
  const bars = [{ label: 'Monday', segments }];
  const groups = orderedGroups(bars);
  expect(groups.map(({ name }) => name)).toEqual(['Notebook …0000000b', 'Notebook …0000000a']);
  expect(drawnSeries(bars, groups).map(({ values }) => values)).toEqual([[2], [1]]);
});

it('a period without anything has no groups', () => {
  expect(orderedGroups([bar('Monday', {})])).toEqual([]);
});
