import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { Attempts } from './attempts.ts';
import { longestContext, type Shape } from './checks/shape.ts';
import type { CompiledCheck } from './compiled-check.ts';
import { decidedWithin } from './compile-rules.ts';
import { Coverage } from './coverage.ts';
import { NormalizedText, plain } from './normalized-text.ts';
import { ShapeWalk } from './shape-walk.ts';

/** A part of a text covered by matches of one type, in UTF-16 units. */
export interface TextMatch {
  /** The index of the check. */
  readonly check: number;
  readonly type: string;
  readonly from: number;
  readonly until: number;
}

/** The result of a piece. */
export interface ScannedPiece {
  /** Each character before it is in a match reported so far, or in no match. */
  readonly cleared: number;
  /**
   * New and longer matches with a start before `cleared`. One with the check, type and start of an earlier report is its
   * rest: nothing else of a report changes.
   */
  readonly matches: readonly TextMatch[];
}

/** Longer pieces are scanned in parts of bounded time and memory. */
const partLength = 512;

/** Characters dropped at once: each time copies the rest. */
const trimmedAt = 2_048;

/** Matches of all checks in one text. From the next one on, all of the text is one match of each check with more. */
export const mostMatches = 10_000;

/** Matches noted in one step. */
const matchesOfStep = 256;

/** The state of one check. */
interface ScannedCheck {
  readonly types: readonly string[];
  readonly coverage: Coverage;
  readonly attempts: readonly Attempts[];
  readonly walks: readonly { readonly walk: ShapeWalk; readonly type: number }[];
  /** The start of the oldest attempt of each type. */
  readonly oldest: Float64Array;
  /** The match with all further ones. */
  flood: { readonly type: number; readonly from: number } | null;
}

/**
 * Finds the matches of all built-in checks of a run in one text, which arrives in pieces. Any pieces of a text have the
 * matches of the whole. A match is decided within 256 characters from its start; its rest is reported as it arrives.
 */
export class TextScan {
  readonly #normalized = new NormalizedText();
  readonly #checks: readonly ScannedCheck[];
  readonly #walks = new Map<Shape, ShapeWalk>();
  readonly #hasExceptions: boolean;
  #cleared = 0;
  /** Matches so far. */
  #begun = 0;
  /** The text in memory, in the form in which it is read: for shapes with their context, and for exceptions. */
  #window = { text: '', base: 0 };

  constructor(checks: readonly CompiledCheck[]) {
    this.#checks = checks.map((check) => this.#scannedCheck(check));
    this.#hasExceptions = checks.some(({ exceptions }) => exceptions !== null);
  }

  /** Scans the next piece of the text, in steps of about a millisecond. */
  *push(piece: string): Steps<ScannedPiece> {
    const matches = new Map<string, TextMatch>();
    let cleared = 0;
    for (let at = 0; at === 0 || at < piece.length; at += partLength) {
      yield* this.#scan(this.#normalized.push(piece.slice(at, at + partLength)), false);
      cleared = yield* this.#report(matches, false);
    }
    return { cleared, matches: inOrder(matches) };
  }

  /** Ends the text: all of it is cleared. */
  *end(): Steps<ScannedPiece> {
    const matches = new Map<string, TextMatch>();
    yield* this.#scan(this.#normalized.end(), true);
    const cleared = yield* this.#report(matches, true);
    return { cleared, matches: inOrder(matches) };
  }

  #scannedCheck({ types, automata, shapes, exceptions }: CompiledCheck): ScannedCheck {
    const coverage = new Coverage(exceptions);
    const attempts = automata.map((automaton) => new Attempts(automaton, coverage));
    const walks = shapes.map(({ shape, type }) => {
      const walk = this.#walks.get(shape) ?? new ShapeWalk(shape);
      this.#walks.set(shape, walk);
      walk.users.push({ coverage, type });
      return { walk, type };
    });
    return {
      types,
      coverage,
      attempts,
      walks,
      oldest: new Float64Array(types.length),
      flood: null,
    };
  }

  *#scan(read: string, isEnd: boolean): Steps<void> {
    if (read === '' && !isEnd) return;
    const base = this.#normalized.read - read.length;
    if (this.#walks.size > 0 || this.#hasExceptions) this.#window.text += read;
    for (const walk of this.#walks.values()) yield* walk.run(this.#window, isEnd);
    for (const { attempts } of this.#checks) {
      for (const each of attempts) {
        yield* each.run(read, base);
        if (isEnd) each.end();
      }
    }
  }

  /** Notes decided matches, and returns how much of the text is cleared. */
  *#report(matches: Map<string, TextMatch>, isEnd: boolean): Steps<number> {
    const { read, length } = this.#normalized;
    const undecided = isEnd ? Infinity : yield* this.#undecided();
    for (const check of this.#checks) if (!check.coverage.isEmpty) this.#noteOldest(check);
    const held = Math.min(undecided, yield* this.#firstException());
    // Half of a character, to which the one before may belong, takes nothing back.
    const cleared =
      held === Infinity ? length : Math.max(this.#cleared, Math.min(this.#normalized.startOf(held), length));
    this.#cleared = cleared;
    for (const [check, state] of this.#checks.entries()) {
      const note = (match: Omit<TextMatch, 'check' | 'type'> & { type: number }): void => {
        const { type, from, until } = match;
        matches.set(`${check},${type},${from}`, { check, type: state.types[type] ?? '', from, until });
      };
      const wasFlooded = state.flood !== null;
      let taken = 0;
      for (const span of state.coverage.take(Math.min(held, read), state.oldest, this.#normalized)) {
        if (++taken % matchesOfStep === 0) yield;
        const isBeforeFlood = span.from < (state.flood?.from ?? Infinity);
        if (span.isNew ? this.#begun < mostMatches : isBeforeFlood) note(span);
        else if (span.isNew && !wasFlooded && isBeforeFlood) state.flood = span;
        if (span.isNew) this.#begun++;
      }
      if (state.flood !== null) note({ ...state.flood, until: cleared });
    }
    this.#forget(Math.min(held, read));
    return cleared;
  }

  /** The first place where a match may still begin or continue; Infinity if no match may. */
  *#undecided(): Steps<number> {
    const { pending, pendingForms, read } = this.#normalized;
    let first = Infinity;
    for (const { attempts } of this.#checks) {
      for (const each of attempts) first = Math.min(first, each.held(pendingForms, read));
      if (attempts.length > 0) yield;
    }
    if (this.#walks.size === 0) return first;
    if (pendingForms === null) first = Math.min(first, read);
    const probe = pending === '' ? null : this.#window.text + plain(pending);
    for (const walk of this.#walks.values()) first = Math.min(first, walk.held(this.#window, probe, read));
    return first;
  }

  /** Notes the oldest attempt of each type with matches. */
  #noteOldest({ attempts, walks, oldest }: ScannedCheck): void {
    oldest.fill(Infinity);
    for (const each of attempts) each.lowerOldest(oldest);
    for (const { walk, type } of walks) oldest[type] = Math.min(oldest[type] ?? Infinity, walk.oldest);
  }

  /** Drops exceptions; returns the first possible one. */
  *#firstException(): Steps<number> {
    if (!this.#hasExceptions) return Infinity;
    const { text, base } = this.#window;
    const textOf = (start: number, end: number): string => text.slice(start - base, end - base);
    let first = Infinity;
    for (const { coverage, oldest } of this.#checks) {
      first = Math.min(first, yield* coverage.except(oldest, textOf));
    }
    return first;
  }

  /** Forgets what later reports don't need. */
  #forget(before: number): void {
    this.#normalized.forget(before);
    const { text, base } = this.#window;
    let needed = this.#normalized.read - (this.#hasExceptions ? decidedWithin : 0);
    for (const walk of this.#walks.values()) needed = Math.min(needed, walk.needed - longestContext);
    if (needed - base > trimmedAt) this.#window = { text: text.slice(needed - base), base: needed };
  }
}

function inOrder(matches: ReadonlyMap<string, TextMatch>): TextMatch[] {
  return [...matches.values()].toSorted((a, b) => a.from - b.from || a.check - b.check || a.until - b.until);
}
