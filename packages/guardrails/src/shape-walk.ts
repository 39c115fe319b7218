import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { Shape } from './checks/shape.ts';
import type { Coverage } from './coverage.ts';

/** Candidates in one step of a scan: the slowest proofs take about a millisecond. */
const candidatesOfStep = 4;

/** The part of a text in memory, in the form in which texts are read. */
export interface TextWindow {
  readonly text: string;
  /** The place of its first character. */
  readonly base: number;
}

/** A check looking for a shape. */
export interface ShapeUser {
  readonly coverage: Coverage;
  readonly type: number;
}

/** The walk of one shape through a text, for all checks looking for it. */
export class ShapeWalk {
  readonly users: ShapeUser[] = [];
  readonly #shape: Shape;
  /** The first place not yet walked, or an undecided candidate. */
  #next = 0;
  #isUndecided = false;
  /** A match without its end. */
  #open: { start: number; end: number } | null = null;

  constructor(shape: Shape) {
    this.#shape = shape;
  }

  /** The start of an undecided candidate or an open match; Infinity without one. */
  get oldest(): number {
    if (this.#open !== null) return this.#open.start;
    return this.#isUndecided ? this.#next : Infinity;
  }

  /** The first place needed again, without its context. */
  get needed(): number {
    return this.#open === null ? this.#next : this.#open.end;
  }

  /** Goes on to the end of the window, which is the end of the text if `isEnd`. */
  *run({ text, base }: TextWindow, isEnd: boolean): Steps<void> {
    const shape = this.#shape;
    let at = this.#next - base;
    if (this.#open !== null) at = this.#match(this.#open, { text, base }, isEnd);
    this.#isUndecided = false;
    let candidates = 0;
    while (this.#open === null) {
      const start = shape.next(text, at);
      if (start === -1) break;
      if (++candidates % candidatesOfStep === 0) yield;
      const verdict = shape.at(text, start, isEnd);
      if (verdict === 'undecided') {
        this.#next = base + start;
        this.#isUndecided = true;
        return;
      }
      if (verdict === null) at = start + 1;
      else if (verdict.hasRest === true) {
        const match = { start: base + verdict.start, end: base + verdict.end };
        at = this.#match(match, { text, base }, isEnd);
      } else {
        at = verdict.end;
        this.#add(base + verdict.start, base + at);
      }
    }
    this.#next = base + text.length;
  }

  /**
   * The first place where a match may still begin or continue; Infinity if no match may. `probe` is the window with the
   * last character, which a mark may change.
   */
  held({ base }: TextWindow, probe: string | null, read: number): number {
    if (this.#isUndecided) return this.#next;
    if (probe === null) return Infinity;
    return this.#open !== null || this.#shape.next(probe, read - base) !== -1 ? read : Infinity;
  }

  /** Adds a match with its rest. */
  #match(match: { start: number; end: number }, { text, base }: TextWindow, isEnd: boolean): number {
    const end = this.#shape.rest?.(text, match.end - base) ?? match.end - base;
    this.#add(match.start, base + end);
    this.#open = end === text.length && !isEnd ? { start: match.start, end: base + end } : null;
    return end;
  }

  #add(start: number, end: number): void {
    for (const { coverage, type } of this.users) coverage.add(type, start, end);
  }
}
