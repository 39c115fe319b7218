/** A part of a text covered by matches. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
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
}

/**
 * The parts of a text covered by matches of each rule. Overlapping matches of a rule are one span: no text of theirs remains, and the
 * result doesn't depend on the order in which they are found.
 */
export class Coverage {
  readonly #spans = new Map<number, OpenSpan[]>();

  get isEmpty(): boolean {
    return this.#spans.size === 0;
  }

  /** Adds a match. Spans of a rule are in order and don't overlap. */
  add(rule: number, start: number, end: number): void {
    const spans = this.#spans.get(rule);
    if (spans === undefined) {
      this.#spans.set(rule, [{ start, end, reported: 0, startInText: -1 }]);
      return;
    }
    let first = spans.length;
    while (first > 0 && (spans[first - 1]?.end ?? 0) > start) first--;
    let last = first;
    const joined = { start, end, reported: 0, startInText: -1 };
    for (let span = spans[last]; span !== undefined && span.start < end; span = spans[++last]) {
      joined.start = Math.min(joined.start, span.start);
      joined.end = Math.max(joined.end, span.end);
      joined.reported = Math.max(joined.reported, span.reported);
      joined.startInText = Math.max(joined.startInText, span.startInText);
    }
    spans.splice(first, last - first, joined);
  }

  /** The first character from `start` on without a match of the rule. */
  uncovered(rule: number, start: number): number {
    const spans = this.#spans.get(rule) ?? [];
    for (let i = spans.length - 1; i >= 0; i--) {
      const span = spans[i];
      if (span === undefined || span.end <= start) return start;
      if (span.start <= start) return span.end;
    }
    return start;
  }

  /**
   * Takes new and longer spans with a start before `cleared`, as places in the text. Spans ending before `oldest`, the
   * start of the oldest attempt, no longer grow and are forgotten.
   */
  take(cleared: number, oldest: number, places: Places): (TextSpan & { rule: number })[] {
    const taken: (TextSpan & { rule: number })[] = [];
    for (const [rule, spans] of this.#spans) {
      for (const span of spans) {
        if (span.start >= cleared || span.reported === span.end) continue;
        if (span.reported === 0) span.startInText = places.startOf(span.start);
        span.reported = span.end;
        taken.push({ rule, start: span.startInText, end: places.endOf(span.end) });
      }
      const open = spans.filter(({ end, reported }) => end > oldest || reported !== end);
      if (open.length === 0) this.#spans.delete(rule);
      else if (open.length < spans.length) this.#spans.set(rule, open);
    }
    return taken.toSorted((a, b) => a.start - b.start || a.rule - b.rule);
  }
}
