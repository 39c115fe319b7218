/** Sorted pairs of first and last code points. */
export type Ranges = ArrayLike<number>;

/** Code points in classes: rules treat all members of a class alike. */
export interface Alphabet {
  /** How many classes there are; one more stands for the end of a text. */
  readonly classes: number;
  /** The class of a code point is `leaves[(pages[codePoint >> 8] << 8) | (codePoint & 255)]`. */
  readonly pages: Uint16Array;
  readonly leaves: Uint16Array;
  /** The classes in each set of code points, in the order in which the sets were given. */
  readonly members: readonly (readonly number[])[];
}

const codePoints = 0x110000;
const pageBits = 8;
const pageSize = 1 << pageBits;

/** Divides all code points into the fewest classes of which each set is a union. */
export function alphabetOf(sets: readonly Ranges[]): Alphabet {
  const changes = changesOf(sets);
  const cuts = [...changes.keys()].filter((cut) => cut < codePoints).toSorted((a, b) => a - b);
  const active = new Set<number>();
  const classes = new Map<string, number>();
  const members: number[][] = sets.map(() => []);
  const spans: { from: number; class: number }[] = [];
  for (const cut of cuts) {
    for (const set of changes.get(cut) ?? []) if (!active.delete(set)) active.add(set);
    const signature = [...active].toSorted((a, b) => a - b).join(',');
    let index = classes.get(signature);
    if (index === undefined) {
      index = classes.size;
      classes.set(signature, index);
      for (const set of active) members[set]?.push(index);
    }
    spans.push({ from: cut, class: index });
  }
  return { classes: classes.size, members, ...pagesOf(spans) };
}

/** The sets beginning or ending at each code point. */
function changesOf(sets: readonly Ranges[]): Map<number, number[]> {
  const changes = new Map<number, number[]>([[0, []]]);
  const toggle = (at: number, set: number): void => {
    const there = changes.get(at);
    if (there === undefined) changes.set(at, [set]);
    else there.push(set);
  };
  for (const [set, ranges] of sets.entries()) {
    for (let i = 0; i + 1 < ranges.length; i += 2) {
      toggle(ranges[i] ?? 0, set);
      toggle((ranges[i + 1] ?? 0) + 1, set);
    }
  }
  return changes;
}

function pagesOf(spans: readonly { from: number; class: number }[]): Pick<Alphabet, 'pages' | 'leaves'> {
  const pages = new Uint16Array(codePoints >> pageBits);
  const known = new Map<string, number>();
  const leaves: Uint16Array[] = [];
  let span = 0;
  const endOfSpan = (): number => spans[span + 1]?.from ?? codePoints;
  for (let page = 0; page < pages.length; page++) {
    const first = page << pageBits;
    const classes: [number, number, number][] = [];
    for (let i = 0; i < pageSize;) {
      while (endOfSpan() <= first + i) span++;
      const end = Math.min(pageSize, endOfSpan() - first);
      classes.push([spans[span]?.class ?? 0, i, end]);
      i = end;
    }
    const key = classes.join(';');
    let index = known.get(key);
    if (index === undefined) {
      const leaf = new Uint16Array(pageSize);
      for (const part of classes) leaf.fill(...part);
      index = leaves.push(leaf) - 1;
      known.set(key, index);
    }
    pages[page] = index;
  }
  const joined = new Uint16Array(leaves.length * pageSize);
  for (const [i, each] of leaves.entries()) joined.set(each, i * pageSize);
  return { pages, leaves: joined };
}

/** The class of a code point. */
export function classOf({ pages, leaves }: Pick<Alphabet, 'pages' | 'leaves'>, codePoint: number): number {
  return leaves[((pages[codePoint >> pageBits] ?? 0) << pageBits) | (codePoint & (pageSize - 1))] ?? 0;
}
