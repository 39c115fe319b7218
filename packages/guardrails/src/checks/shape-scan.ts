import { longestContext, type Shape, type Span } from './shape.ts';

/** Characters dropped at once: each time copies the rest. */
const trimmedAt = 2_048;

/** A recognised value. Its indexes count from the beginning of the text. */
export interface Match extends Span {
  type: string;
}

/** The result of a part of a text. */
export interface Scanned {
  /**
   * Decided matches in order of their beginnings. They may overlap, and end after `cleared`. A match with the beginning
   * and type of an earlier result continues it.
   */
  matches: Match[];
  /** No match of a later result begins before this index. */
  cleared: number;
}

/** A match in the part of a text not yet cleared. */
interface Detection {
  match: Match;
  /** The beginning of the candidate, which may be before the match. */
  candidate: number;
  /** Whether the end of the match has not arrived. */
  isOpen: boolean;
}

/** The progress of one shape. */
interface Progress {
  shape: Shape;
  /** The end of the last match. */
  after: number;
  /** A match without its end. */
  open: Match | null;
}

/**
 * Finds the matches of shapes in a text, which arrives in parts. The memory of a scan and the work for a part are bounded
 * by the length of the part.
 */
export class ShapeScan {
  readonly #progress: Progress[];
  /** The part of the text not yet cleared, after its context. */
  #text = '';
  /** The index of the first character of `#text`. */
  #base = 0;
  #cleared = 0;

  constructor(shapes: readonly Shape[]) {
    this.#progress = shapes.map((shape) => ({ shape, after: 0, open: null }));
  }

  /** Scans a further part of the text. */
  push(part: string): Scanned {
    this.#text += part;
    return this.#scan(false);
  }

  /** Scans the rest of the text, which has ended. */
  end(): Scanned {
    return this.#scan(true);
  }

  #scan(ended: boolean): Scanned {
    const results = this.#progress.map((progress) => ({ progress, ...this.#find(progress, ended) }));
    this.#cleared = Math.min(...results.map(({ held }) => held), this.#base + this.#text.length);
    const matches = results.flatMap(({ progress, detections }) => this.#settle(progress, detections));
    const dropped = this.#cleared - this.#base - longestContext;
    if (dropped > trimmedAt) {
      this.#text = this.#text.slice(dropped);
      this.#base += dropped;
    }
    return { matches: matches.toSorted((one, other) => one.start - other.start), cleared: this.#cleared };
  }

  /** The matches of one shape, and the beginning of its first undecided candidate. */
  #find({ shape, after, open }: Progress, ended: boolean): { detections: Detection[]; held: number } {
    const text = this.#text;
    const base = this.#base;
    const detections: Detection[] = [];
    const add = (match: Match, candidate: number, hasRest: boolean) => {
      const end = hasRest ? base + (shape.rest?.(text, match.end - base) ?? match.end - base) : match.end;
      detections.push({
        match: { ...match, end },
        candidate,
        isOpen: hasRest && !ended && end === base + text.length,
      });
      return end - base;
    };
    let from = Math.max(this.#cleared, after) - base;
    if (open) from = add(open, open.start, true);
    for (let start = shape.next(text, from); start !== -1; start = shape.next(text, from)) {
      const verdict = shape.at(text, start, ended);
      if (verdict === 'undecided') return { detections, held: base + start };
      if (verdict === null) from = start + 1;
      else {
        const match = { type: shape.type, start: base + verdict.start, end: base + verdict.end };
        from = add(match, base + start, verdict.hasRest === true);
      }
    }
    return { detections, held: base + text.length };
  }

  /** Reports the matches of candidates in the cleared text. The others are found again. */
  #settle(progress: Progress, detections: readonly Detection[]): Match[] {
    const settled = detections.filter(({ candidate }) => candidate < this.#cleared);
    const last = settled.at(-1);
    if (last) {
      progress.after = last.match.end;
      progress.open = last.isOpen ? last.match : null;
    }
    return settled.map(({ match }) => match);
  }
}

/** The matches of shapes in a whole text. */
export function findShapes(shapes: readonly Shape[], text: string): Match[] {
  const scan = new ShapeScan(shapes);
  const { matches } = scan.push(text);
  return joinContinued([...matches, ...scan.end().matches]);
}

/** Joins matches of several results, in order of their beginnings. */
export function joinContinued(matches: readonly Match[]): Match[] {
  const byBeginning = new Map<string, Match>();
  for (const match of matches) byBeginning.set(`${String(match.start)} ${match.type}`, match);
  return [...byBeginning.values()].toSorted((one, other) => one.start - other.start || one.end - other.end);
}
