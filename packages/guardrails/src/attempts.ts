import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { classOf } from './alphabet.ts';
import type { Automaton } from './automaton.ts';
import { kind } from './character-kind.ts';
import type { Coverage } from './coverage.ts';

/** Attempts and matches in one step of a scan: it takes about a millisecond. */
const workOfStep = 40_000;

/**
 * Starts of possible matches in the middle of a text, each with its state, oldest first. If two reach the same state,
 * only the older one is followed: its matches contain those of the other. States bound the number of attempts.
 */
export class Attempts {
  readonly #automaton: Automaton;
  readonly #coverage: Coverage;
  #starts = new Float64Array(16);
  #states = new Uint16Array(16);
  #count = 0;
  readonly #marks: Marks;
  #before: number = kind.bound;
  #at = 0;
  #work = 0;
  /** Classes of a letter and its compositions, by the letter. */
  readonly #composed = new Map<string, readonly number[]>();

  constructor(automaton: Automaton, coverage: Coverage) {
    this.#automaton = automaton;
    this.#coverage = coverage;
    this.#marks = marksOf(automaton);
  }

  /** Goes on with a text from place `base`. */
  *run(text: string, base: number): Steps<void> {
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
        this.#marks.step++;
        this.#work += this.#count + 1;
        this.#step(index, at, at + size);
        this.#follow(begun, at, at + size);
        if (this.#work > workOfStep) {
          this.#work = 0;
          yield;
        }
      }
      before = kindOf[index] ?? kind.other;
      i += size;
    }
    this.#before = before;
    this.#at = base + text.length;
  }

  /** Ends the text. */
  end(): void {
    this.#marks.step++;
    this.#step(this.#automaton.classes - 1, this.#at, this.#at);
    this.#count = 0;
  }

  /** Lowers the oldest start of each type to that of the oldest attempt with a possible match of it. */
  lowerOldest(oldest: Float64Array): void {
    const { ahead } = this.#automaton;
    this.#marks.step++;
    for (let i = 0; i < this.#count; i++) {
      const start = this.#starts[i] ?? 0;
      for (const type of this.#newTypes(ahead[this.#states[i] ?? 0] ?? 0, this.#marks.matched)) {
        if (start < (oldest[type] ?? 0)) oldest[type] = start;
      }
    }
  }

  /**
   * The first place where a match may still begin or continue; Infinity if no match may. `forms` are the possible forms
   * of the next character, at `pending`: empty without such a character, null if unknown.
   */
  held(forms: readonly string[] | null, pending: number): number {
    const classes = forms === null ? null : this.#classes(forms);
    let first = Infinity;
    this.#marks.step++;
    for (let i = 0; i < this.#count; i++) {
      const start = this.#starts[i] ?? 0;
      if (start >= first) break;
      const state = this.#states[i] ?? 0;
      if (this.#survives(state, classes)) first = Math.min(first, this.#uncovered(state, start));
    }
    if (pending < first && (forms === null || forms.length > 0)) {
      const state = this.#automaton.starts[this.#before] ?? 0;
      if (this.#survives(state, classes)) first = pending;
    }
    return first;
  }

  /** The first character without a match of a type ahead. Types of older attempts in the same step were looked up. */
  #uncovered(state: number, start: number): number {
    if (this.#coverage.isEmpty) return start;
    let first = Infinity;
    for (const type of this.#newTypes(this.#automaton.ahead[state] ?? 0, this.#marks.matched)) {
      first = Math.min(first, this.#coverage.uncovered(type, start));
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
    const { next, late, classes } = this.#automaton;
    const count = this.#count;
    this.#count = 0;
    for (let i = 0; i < count; i++) {
      const cell = (this.#states[i] ?? 0) * classes + index;
      const target = next[cell] ?? 0;
      const lateList = late === null ? 0 : (late[cell] ?? 0);
      // Most attempts end with the next character.
      if (target === 0 && lateList === 0) continue;
      const start = this.#starts[i] ?? 0;
      for (const type of this.#newTypes(lateList, this.#marks.late)) this.#coverage.add(type, start, at);
      if (target !== 0) this.#follow(target, start, after);
    }
  }

  /** Follows an attempt into its next state, or ends it. */
  #follow(state: number, start: number, after: number): void {
    if (state === 0) return;
    const { matched, ahead } = this.#automaton;
    const { reached, step } = this.#marks;
    if (reached[state] === step) return;
    reached[state] = step;
    const list = matched[state] ?? 0;
    for (const type of this.#newTypes(list, this.#marks.matched)) this.#coverage.add(type, start, after);
    if (ahead[state] === 0) return;
    const slot = this.#count++;
    if (slot === this.#starts.length) this.#grow();
    this.#starts[slot] = start;
    this.#states[slot] = state;
  }

  /** The types of a list without those of older attempts in the same step: a match of an older one contains others. */
  #newTypes(list: number, { lists, types }: MarkedTypes): ArrayLike<number> & Iterable<number> {
    const all = this.#automaton.lists[list] ?? nothing;
    const { step } = this.#marks;
    if (list === 0 || lists[list] === step) return nothing;
    lists[list] = step;
    this.#work += all.length;
    if (all.length === 1) {
      const type = all[0] ?? 0;
      if (types[type] === step) return nothing;
      types[type] = step;
      return all;
    }
    const fresh = all.filter((type) => types[type] !== step);
    for (const type of fresh) types[type] = step;
    return fresh;
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

const nothing = new Uint16Array(0);

/** Steps in which lists of types, and types, were last seen. */
interface MarkedTypes {
  readonly lists: Float64Array;
  readonly types: Float64Array;
}

/** The step in which each state was last reached, and each type seen. All scans share them: a step is never interrupted. */
interface Marks {
  step: number;
  readonly reached: Float64Array;
  readonly matched: MarkedTypes;
  readonly late: MarkedTypes;
}

const marksByAutomaton = new WeakMap<Automaton, Marks>();

function marksOf(automaton: Automaton): Marks {
  const known = marksByAutomaton.get(automaton);
  if (known !== undefined) return known;
  const { lists, matched } = automaton;
  const types = 1 + lists.reduce((most, list) => Math.max(most, list.at(-1) ?? 0), 0);
  const markedTypes = (): MarkedTypes => ({
    lists: new Float64Array(lists.length),
    types: new Float64Array(types),
  });
  const marks = {
    step: 0,
    reached: new Float64Array(matched.length),
    matched: markedTypes(),
    late: markedTypes(),
  };
  marksByAutomaton.set(automaton, marks);
  return marks;
}
