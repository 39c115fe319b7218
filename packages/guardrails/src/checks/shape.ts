/**
 * The most characters from the beginning of a candidate to the decision whether it is a match. A scan of a stream holds
 * back no more.
 */
export const longestCandidate = 256;

/** Characters before a candidate that a shape may look at: the words beside it, and the token around it. */
export const longestContext = 256;

/** A part of a text recognised by a shape. Indexes are UTF-16 code units. */
export interface Span {
  start: number;
  end: number;
}

/** A place in a text where a match may begin. */
export interface Candidate {
  text: string;
  start: number;
  /** Whether no more text follows. */
  ended: boolean;
}

/** A match, or its first part, which `Shape.rest` completes. */
export interface Proven extends Span {
  hasRest?: boolean;
}

/**
 * The result for one candidate: no match, a match, or undecided until more text arrives. A finished text has no
 * undecided candidates.
 */
export type Verdict = null | Proven | 'undecided';

/** One kind of value, recognised by its form and by a proof such as a checksum. */
export interface Shape {
  /** The reported type of matches. */
  type: string;

  /**
   * The first index from `from` on at which a candidate may begin, or -1. The end of the text counts as a beginning of
   * a candidate if more text may complete it.
   */
  next(text: string, from: number): number;

  /**
   * Judges the candidate at an index returned by `next`. Reads at most `longestContext` characters before the index
   * and `longestCandidate` from it, so the verdict about a text is the verdict about each part of it with this
   * context.
   */
  at(text: string, start: number, ended: boolean): Verdict;

  /**
   * The end of a match of any length, of which the part before `end` is known: the rest is removed without being held
   * back. The match may go on if it ends with the text.
   */
  rest?(text: string, end: number): number;
}

/** Begins candidates at each hit of a pattern, which has the flag `g`. */
export function hits(pattern: RegExp): Shape['next'] {
  return (text, from) => {
    pattern.lastIndex = from;
    return pattern.exec(text)?.index ?? -1;
  };
}
