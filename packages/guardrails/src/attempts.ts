import { classOf } from './alphabet.ts';
import type { Automaton } from './automaton.ts';
import { kind } from './character-kind.ts';
import type { Coverage } from './coverage.ts';

/** Takes what attempts find. */
export interface Sink {
  readonly coverage: Coverage;
  prove(rule: number, start: number, end: number): void;
}

/**
 * Starts of possible matches in the middle of a text, each with its state, oldest first. If two reach the same state,
 * only the older one is followed: its matches contain those of the other. States bound the number of attempts.
 */
export class Attempts {
  readonly #automaton: Automaton;
  readonly #sink: Sink;
  #starts = new Float64Array(16);
  #states = new Uint16Array(16);
  /** The longest match of each rule, for attempts with proved candidates. */
  readonly #candidates: (Map<number, number> | undefined)[] = [];
  #count = 0;
  readonly #marks: Marks;
  #before: number = kind.bound;
  #at = 0;
  /** Classes of a letter and its compositions, by the letter. */
  readonly #composed = new Map<string, readonly number[]>();

  constructor(automaton: Automaton, sink: Sink) {
    this.#automaton = automaton;
    this.#sink = sink;
    this.#marks = marksOf(automaton);
  }

  /** The oldest start; Infinity without an attempt. */
  get oldest(): number {
    return this.#count === 0 ? Infinity : (this.#starts[0] ?? Infinity);
  }

  /** Goes on with a text from place `base`. */
  run(text: string, base: number): void {
    const { pages, leaves, kindOf, starts, next, classes } = this.#automaton;
    let before = this.#before;
    let i = 0;
    while (i < text.length) {
      let code = text.charCodeAt(i);
      let size = 1;
      if (code >= 0xd800 && code < 0xdc00) {
        code = text.codePointAt(i) ?? code;
        size = code > 0xffff ? 2 : 1;
      }
      const at = base + i;
      const index = leaves[((pages[code >> 8] ?? 0) << 8) | (code & 255)] ?? 0;
      const begun = next[(starts[before] ?? 0) * classes + index] ?? 0;
      // Most characters begin nothing and continue nothing.
      if (this.#count > 0 || begun !== 0) {
        this.#marks.step = (this.#marks.step + 1) >>> 0;
        this.#step(index, at, at + size);
        this.#follow(begun, at, at + size, undefined);
      }
      before = kindOf[index] ?? kind.other;
      i += size;
    }
    this.#before = before;
    this.#at = base + text.length;
  }

  /** Ends the text. */
  end(): void {
    this.#step(this.#automaton.classes - 1, this.#at, this.#at);
    this.#count = 0;
  }

  /**
   * The first place where a match may still begin or continue; Infinity if no match may. `forms` are the possible forms
   * of the next character, at `pending`: empty without such a character, null if unknown.
   */
  held(coverage: Coverage, forms: readonly string[] | null, pending: number): number {
    const classes = forms === null ? null : this.#classes(forms);
    let first = Infinity;
    for (let i = 0; i < this.#count; i++) {
      const start = this.#starts[i] ?? 0;
      if (start >= first) break;
      const state = this.#states[i] ?? 0;
      // A candidate is in no match before it was proved.
      if (this.#candidates[i] !== undefined) first = start;
      else if (this.#survives(state, classes)) {
        first = Math.min(first, this.#uncovered(coverage, state, start));
      }
    }
    if (pending < first && (forms === null || forms.length > 0)) {
      const state = this.#automaton.starts[this.#before] ?? 0;
      if (this.#survives(state, classes)) first = pending;
    }
    return first;
  }

  #uncovered(coverage: Coverage, state: number, start: number): number {
    const { ahead, lists } = this.#automaton;
    if (coverage.isEmpty) return start;
    let first = Infinity;
    for (const rule of lists[ahead[state] ?? 0] ?? []) {
      first = Math.min(first, coverage.uncovered(rule, start));
    }
    return first;
  }

  #classes(forms: readonly string[]): readonly number[] {
    const [character = ''] = forms;
    const known = this.#composed.get(character);
    if (known !== undefined) return known;
    const classes = [...new Set(forms.map((each) => classOf(this.#automaton, each.codePointAt(0) ?? 0)))];
    if (forms.length > 1) this.#composed.set(character, classes);
    return classes;
  }

  /** Whether a match may continue with one of the classes. With unknown or no classes it may. */
  #survives(state: number, classes: readonly number[] | null): boolean {
    if (classes === null || classes.length === 0) return true;
    const { next, late, classes: width } = this.#automaton;
    return classes.some((each) => {
      const cell = state * width + each;
      return next[cell] !== 0 || (late !== null && late[cell] !== 0);
    });
  }

  #step(index: number, at: number, after: number): void {
    const { next, late, classes, proved } = this.#automaton;
    const count = this.#count;
    this.#count = 0;
    for (let i = 0; i < count; i++) {
      const cell = (this.#states[i] ?? 0) * classes + index;
      const target = next[cell] ?? 0;
      const lateList = late === null ? 0 : (late[cell] ?? 0);
      // Most attempts end with the next character.
      if (target === 0 && lateList === 0 && !proved) continue;
      const start = this.#starts[i] ?? 0;
      const candidates = proved ? this.#candidates[i] : undefined;
      const known = lateList === 0 ? candidates : this.#match(lateList, start, at, candidates);
      this.#follow(target, start, after, known);
    }
  }

  /** Follows an attempt into its next state, or ends it. */
  #follow(state: number, start: number, after: number, known: Map<number, number> | undefined): void {
    const { matched, ahead, proved } = this.#automaton;
    if (state === 0) {
      if (known !== undefined) this.#prove(known, start);
      return;
    }
    if (!proved) {
      const { reached, step } = this.#marks;
      if (reached[state] === step) return;
      reached[state] = step;
    }
    const list = matched[state] ?? 0;
    const candidates = list === 0 ? known : this.#match(list, start, after, known);
    if (ahead[state] === 0) {
      if (candidates !== undefined) this.#prove(candidates, start);
      return;
    }
    const slot = this.#count++;
    if (slot === this.#starts.length) this.#grow();
    this.#starts[slot] = start;
    this.#states[slot] = state;
    if (proved) this.#candidates[slot] = candidates;
  }

  /** Adds matches of a list of rules, or remembers them as candidates. */
  #match(
    list: number,
    start: number,
    end: number,
    candidates: Map<number, number> | undefined,
  ): Map<number, number> | undefined {
    const { lists, proved } = this.#automaton;
    const known = proved ? (candidates ?? new Map<number, number>()) : undefined;
    for (const rule of lists[list] ?? []) {
      if (known === undefined) this.#sink.coverage.add(rule, start, end);
      else known.set(rule, end);
    }
    return known;
  }

  #prove(candidates: Map<number, number>, start: number): void {
    for (const [rule, end] of candidates) {
      // A covered text was proved with an earlier start.
      if (this.#sink.coverage.uncovered(rule, start) < end) this.#sink.prove(rule, start, end);
    }
  }

  #grow(): void {
    const starts = new Float64Array(this.#starts.length * 2);
    starts.set(this.#starts);
    this.#starts = starts;
    const states = new Uint16Array(this.#states.length * 2);
    states.set(this.#states);
    this.#states = states;
  }
}

/** The step in which each state was last reached. All scans share them: a step is never interrupted. */
interface Marks {
  readonly reached: Uint32Array;
  step: number;
}

const marksByAutomaton = new WeakMap<Automaton, Marks>();

function marksOf(automaton: Automaton): Marks {
  const known = marksByAutomaton.get(automaton);
  if (known !== undefined) return known;
  const marks = { reached: new Uint32Array(automaton.matched.length), step: 0 };
  marksByAutomaton.set(automaton, marks);
  return marks;
}
