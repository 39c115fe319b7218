import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { decidedWithin } from './compile-rules.ts';
import type { Exceptions } from './exceptions.ts';

/** Possible exceptions in one step of a scan. */
const spansOfStep = 64;

/** A part of a text covered by matches of one type. */
export interface CoveredSpan {
  readonly type: number;
  readonly from: number;
  readonly until: number;
  /** It was not reported before: no rest. */
  readonly isNew: boolean;
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
  text: string | null;
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
    const spans = this.#spans.get(type);
    const isMatch = this.#exceptions === null;
    if (spans === undefined) {
      this.#spans.set(type, [{ start, end, reported: 0, startInText: -1, isMatch, text: null }]);
      return;
    }
    const latest = spans.at(-1);
    if (latest !== undefined && latest.start <= start && latest.end > start) {
      if (latest.end >= end) return;
      latest.end = end;
      latest.text = null;
      return;
    }
    let first = spans.length;
    while (first > 0 && (spans[first - 1]?.end ?? 0) > start) first--;
    let last = first;
    const joined: OpenSpan = { start, end, reported: 0, startInText: -1, isMatch, text: null };
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
    let [low, high] = [0, spans.length];
    // The number of spans starting at `start` or before.
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((spans[middle]?.start ?? 0) <= start) low = middle + 1;
      else high = middle;
    }
    return Math.max(start, spans[low - 1]?.end ?? 0);
  }

  /**
   * Drops exceptions, and returns the first place of a span which may become one. `oldest` are the starts of the oldest
   * attempts by type: spans ending before no longer grow. `textOf` knows the last part, and as many characters before as
   * an exception may have.
   */
  *except(oldest: ArrayLike<number>, textOf: (start: number, end: number) => string): Steps<number> {
    const exceptions = this.#exceptions;
    let held = Infinity;
    if (exceptions === null) return held;
    let looked = 0;
    for (const [type, spans] of this.#spans) {
      if (spans.every(({ isMatch }) => isMatch)) continue;
      const grown = oldest[type] ?? Infinity;
      const left: OpenSpan[] = [];
      for (const span of spans) {
        const isWhole = span.end <= grown;
        if (span.end - span.start > decidedWithin) span.isMatch = true;
        if (!span.isMatch) {
          if (++looked % spansOfStep === 0) yield;
          span.text ??= textOf(span.start, span.end);
          // An older attempt may become a part of the match.
          if (span.start <= grown) {
            span.isMatch = !(isWhole ? exceptions.has(span.text) : exceptions.mayHave(span.text));
          }
          if (!span.isMatch && !isWhole) held = Math.min(held, span.start);
        }
        if (span.isMatch || !isWhole) left.push(span);
      }
      if (left.length === 0) this.#spans.delete(type);
      else this.#spans.set(type, left);
    }
    return held;
  }

  /**
   * Takes new and longer spans with a start before `cleared`, as places in the text. Spans ending before the oldest
   * attempt of their type no longer grow and are forgotten.
   */
  *take(cleared: number, oldest: ArrayLike<number>, places: Places): Generator<CoveredSpan> {
    for (const [type, spans] of this.#spans) {
      const grown = oldest[type] ?? Infinity;
      let done = 0;
      for (const span of spans) {
        if (span.start >= cleared) break;
        if (span.end <= grown) done++;
        if (span.reported === span.end) continue;
        const isNew = span.reported === 0;
        if (isNew) span.startInText = places.startOf(span.start);
        span.reported = span.end;
        yield { type, from: span.startInText, until: places.endOf(span.end), isNew };
      }
      if (done === spans.length) this.#spans.delete(type);
      else if (done > 0) spans.splice(0, done);
    }
  }
}
