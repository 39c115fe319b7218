import { mostColours } from '../bounds.ts';

/** One bar of a chart. */
export interface Bar {
  label: string;
  segments: readonly Segment[];
}

/** A group with one colour in all bars: another one may have the same name. */
export interface ChartGroup {
  id: string;
  name: string;
}

export interface Segment {
  group: ChartGroup;
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

/** The groups of bars, those with most first. Several of one name have the end of their ids with it. */
export function orderedGroups(bars: readonly Bar[]): ChartGroup[] {
  const sums = new Map<string, { group: ChartGroup; sum: number }>();
  for (const { segments } of bars)
    for (const { group, value } of segments)
      sums.set(group.id, { group, sum: (sums.get(group.id)?.sum ?? 0) + value });
  const groups = [...sums.values()].toSorted((one, other) => other.sum - one.sum).map(({ group }) => group);
  const named = Map.groupBy(groups, ({ name }) => name);
  return groups.map(({ id, name }) => ({
    id,
    name: named.get(name)?.length === 1 ? name : `${name} …${id.slice(-8)}`,
  }));
}

/** The heights of each group in all bars; groups beyond the colours are one series. */
export function drawnSeries(bars: readonly Bar[], groups: readonly ChartGroup[]): DrawnSeries[] {
  const colours = new Map(groups.map(({ id }, index) => [id, Math.min(index, mostColours)]));
  return Array.from({ length: Math.min(groups.length, mostColours + 1) }, (_, colour) => ({
    colour,
    values: bars.map(({ segments }) =>
      segments.reduce((sum, { group, value }) => sum + (colours.get(group.id) === colour ? value : 0), 0),
    ),
  }));
}
