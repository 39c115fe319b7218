import { Attempts, type Sink } from './attempts.ts';
import type { Automaton } from './automaton.ts';
import { formsOf } from './composites.ts';
import { Coverage, type TextSpan } from './coverage.ts';
import { NormalizedText } from './normalized-text.ts';

/** Finds the matches in a candidate, which is in the form in which texts are read. */
export type Proof = (candidate: string) => readonly TextSpan[];

/** The rules of one check. */
export interface ScannedRules {
  readonly automata: readonly Automaton[];
  /** By the index of a rule compiled as `proved`. */
  readonly proofs?: readonly (Proof | undefined)[];
}

/** A part of the text covered by matches of one rule, in UTF-16 units. */
export interface Match extends TextSpan {
  /** The index of the check. */
  readonly check: number;
  /** The index of the rule. */
  readonly rule: number;
}

/** The result of a piece. */
export interface Scanned {
  /** Each character before it is in a match reported so far, or in no match. */
  readonly cleared: number;
  /** New and longer matches with a start before `cleared`. One with a known start replaces the earlier report. */
  readonly matches: readonly Match[];
}

/** Longer pieces are scanned in parts of bounded time and memory. */
const partLength = 512;

/** Finds the matches of several checks in one text, which arrives in pieces. */
export class Scanner {
  readonly #normalized = new NormalizedText();
  readonly #checks: { coverage: Coverage; attempts: Attempts[] }[];
  /** The normalized text since the oldest attempt, for proofs. */
  #window = '';
  #windowStart = 0;
  readonly #keepsWindow: boolean;

  constructor(checks: readonly ScannedRules[]) {
    this.#checks = checks.map(({ automata, proofs = [] }) => {
      const coverage = new Coverage();
      const sink: Sink = {
        coverage,
        prove: (rule, start, end) => {
          const candidate = this.#window.slice(start - this.#windowStart, end - this.#windowStart);
          for (const span of proofs[rule]?.(candidate) ?? []) {
            coverage.add(rule, start + span.start, start + span.end);
          }
        },
      };
      return { coverage, attempts: automata.map((automaton) => new Attempts(automaton, sink)) };
    });
    this.#keepsWindow = checks.some(({ automata }) => automata.some(({ proved }) => proved));
  }

  /** Scans the next piece of the text. */
  push(piece: string): Scanned {
    const matches: Match[] = [];
    let cleared = 0;
    for (let at = 0; at === 0 || at < piece.length; at += partLength) {
      this.#scan(this.#normalized.push(piece.slice(at, at + partLength)));
      ({ cleared } = this.#take(matches, false));
    }
    return { cleared, matches };
  }

  /** Ends the text: all of it is cleared. */
  end(): Scanned {
    const matches: Match[] = [];
    this.#scan(this.#normalized.end());
    for (const { attempts } of this.#checks) for (const each of attempts) each.end();
    return this.#take(matches, true);
  }

  #scan(read: string): void {
    if (read === '') return;
    if (this.#keepsWindow) this.#window += read;
    const base = this.#normalized.read - read.length;
    for (const { attempts } of this.#checks) for (const each of attempts) each.run(read, base);
  }

  #take(matches: Match[], isEnd: boolean): Scanned {
    const { read, length } = this.#normalized;
    const oldest = isEnd ? Infinity : this.#held((each) => each.oldest);
    const held = isEnd ? Infinity : this.#firstHeld();
    const cleared = held === Infinity ? length : Math.min(this.#normalized.startOf(held), length);
    for (const [check, { coverage }] of this.#checks.entries()) {
      if (coverage.isEmpty) continue;
      for (const span of coverage.take(Math.min(held, read), oldest, this.#normalized)) {
        matches.push({ check, ...span });
      }
    }
    this.#forget(Math.min(oldest, read));
    return { cleared, matches };
  }

  /** The first place where a match may still begin or continue; Infinity if no match may. */
  #firstHeld(): number {
    const { pending, read } = this.#normalized;
    const forms = pending === '' ? [] : formsOf(pending);
    return this.#held((attempts, coverage) => attempts.held(coverage, forms, read));
  }

  #held(placeOf: (attempts: Attempts, coverage: Coverage) => number): number {
    let first = Infinity;
    for (const { attempts, coverage } of this.#checks) {
      for (const each of attempts) first = Math.min(first, placeOf(each, coverage));
    }
    return first;
  }

  #forget(before: number): void {
    this.#normalized.forget(before);
    if (!this.#keepsWindow) return;
    this.#window = this.#window.slice(before - this.#windowStart);
    this.#windowStart = before;
  }
}

/** Finds all matches in a whole text, in steps. */
export function* scanSteps(checks: readonly ScannedRules[], text: string): Generator<undefined, Match[]> {
  const scanner = new Scanner(checks);
  const last = new Map<string, Match>();
  const note = ({ matches }: Scanned): void => {
    for (const match of matches) last.set(`${match.check},${match.rule},${match.start}`, match);
  };
  for (let at = 0; at < text.length; at += partLength) {
    note(scanner.push(text.slice(at, at + partLength)));
    yield;
  }
  note(scanner.end());
  return [...last.values()];
}
