import { mostColours } from '../bounds.ts';

/** One bar of a chart. */
export interface Bar {
  label: string;
  segments: readonly Segment[];
}

export interface Segment {
  /** The name of the group, which has one colour in all bars. */
  group: string;
  /** For the height alone. */
  value: number;
  /** The figure as people read it. */
  text: string;
  /** The figure as the API returned it. */
  exact: string;
}

/** Values to draw, from the lowest segment to the highest. The last one may stand for several groups. */
export interface DrawnSeries {
  /** The index of its colour. */
  colour: number;
  values: readonly number[];
}

/** The groups of bars, those with most first. */
export function orderedGroups(bars: readonly Bar[]): string[] {
  const sums = new Map<string, number>();
  for (const { segments } of bars)
    for (const { group, value } of segments) sums.set(group, (sums.get(group) ?? 0) + value);
  return [...sums].toSorted((one, other) => other[1] - one[1]).map(([group]) => group);
}

/** The heights of each group in all bars; groups beyond the colours are one series. */
export function drawnSeries(bars: readonly Bar[], groups: readonly string[]): DrawnSeries[] {
  const colours = new Map(groups.map((group, index) => [group, Math.min(index, mostColours)]));
  return Array.from({ length: Math.min(groups.length, mostColours + 1) }, (_, colour) => ({
    colour,
    values: bars.map(({ segments }) =>
      segments.reduce((sum, { group, value }) => sum + (colours.get(group) === colour ? value : 0), 0),
    ),
  }));
}
