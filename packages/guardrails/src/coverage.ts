import { decidedWithin } from './compile-rules.ts';
import type { Exceptions } from './exceptions.ts';

/** A part of a text covered by matches of one type. */
export interface CoveredSpan {
  readonly type: number;
  readonly from: number;
  readonly until: number;
}

/** The places in a text of what was read of it. */
export interface Places {
  startOf(place: number): number;
  endOf(place: number): number;
}

interface OpenSpan {
  start: number;
  end: number;
  /** The end reported last. */
  reported: number;
  /** The start in the text, once it was reported. */
  startInText: number;
  /** It is a match, whatever follows: no exception. */
  isMatch: boolean;
  /** The text of what may be an exception. */
  text?: string;
}

/**
 * The parts of a text covered by matches of each type. Overlapping matches of a type are one span: no text of theirs
 * remains, and the result doesn't depend on the order in which they are found.
 */
export class Coverage {
  readonly #spans = new Map<number, OpenSpan[]>();
  readonly #exceptions: Exceptions | null;

  constructor(exceptions: Exceptions | null) {
    this.#exceptions = exceptions;
  }

  get isEmpty(): boolean {
    return this.#spans.size === 0;
  }

  /** Adds a match. Spans of a type are in order and don't overlap. */
  add(type: number, start: number, end: number): void {
    const joined: OpenSpan = { start, end, reported: 0, startInText: -1, isMatch: this.#exceptions === null };
    const spans = this.#spans.get(type);
    if (spans === undefined) {
      this.#spans.set(type, [joined]);
      return;
    }
    let first = spans.length;
    while (first > 0 && (spans[first - 1]?.end ?? 0) > start) first--;
    let last = first;
    for (let span = spans[last]; span !== undefined && span.start < end; span = spans[++last]) {
      joined.start = Math.min(joined.start, span.start);
      joined.end = Math.max(joined.end, span.end);
      joined.reported = Math.max(joined.reported, span.reported);
      joined.startInText = Math.max(joined.startInText, span.startInText);
      joined.isMatch ||= span.isMatch;
    }
    spans.splice(first, last - first, joined);
  }

  /** The first character from `start` on without a match of the type. */
  uncovered(type: number, start: number): number {
    const spans = this.#spans.get(type) ?? [];
    for (let i = spans.length - 1; i >= 0; i--) {
      const span = spans[i];
      if (span === undefined || span.end <= start) return start;
      if (span.start <= start) return span.end;
    }
    return start;
  }

  /**
   * Drops exceptions, and returns the first place of a span which may become one. `oldestOf` is the start of
   * the oldest attempt of a type: spans ending before it no longer grow. `textOf` knows the last part, and as many
   * characters before as an exception may have.
   */
  except(oldestOf: (type: number) => number, textOf: (start: number, end: number) => string): number {
    const exceptions = this.#exceptions;
    let held = Infinity;
    if (exceptions === null) return held;
    for (const [type, spans] of this.#spans) {
      if (spans.every(({ isMatch }) => isMatch)) continue;
      const oldest = oldestOf(type);
      const left = spans.filter((span) => {
        if (span.end - span.start > decidedWithin) span.isMatch = true;
        if (span.isMatch) return true;
        span.text ??= textOf(span.start, span.end);
        const isWhole = span.end <= oldest;
        // An older attempt may become a part of the match.
        if (span.start <= oldest) {
          span.isMatch = !(isWhole ? exceptions.has(span.text) : exceptions.mayHave(span.text));
        }
        if (!span.isMatch && !isWhole) held = Math.min(held, span.start);
        return span.isMatch || !isWhole;
      });
      if (left.length === 0) this.#spans.delete(type);
      else this.#spans.set(type, left);
    }
    return held;
  }

  /**
   * Takes new and longer spans with a start before `cleared`, as places in the text. Spans ending before the oldest
   * attempt of their type no longer grow and are forgotten.
   */
  take(cleared: number, oldestOf: (type: number) => number, places: Places): CoveredSpan[] {
    const taken: CoveredSpan[] = [];
    for (const [type, spans] of this.#spans) {
      for (const span of spans) {
        if (span.start >= cleared || span.reported === span.end) continue;
        if (span.reported === 0) span.startInText = places.startOf(span.start);
        span.reported = span.end;
        taken.push({ type, from: span.startInText, until: places.endOf(span.end) });
      }
      const oldest = oldestOf(type);
      const open = spans.filter(({ end, reported }) => end > oldest || reported !== end);
      if (open.length === 0) this.#spans.delete(type);
      else if (open.length < spans.length) this.#spans.set(type, open);
    }
    return taken;
  }
}
