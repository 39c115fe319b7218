import type { Automaton } from './automaton.ts';
import {
  conditionsBetween,
  type Kind,
  kind,
  kinds,
  knownAlphabet,
  type KnownAlphabet,
} from './character-kind.ts';
import type { Program } from './program.ts';

/** Bounds of one automaton: `next` has a cell of two bytes by state and class; a step may go through all lists of types. */
const automatonBounds = { states: 8192, cells: 1 << 19, listed: 1 << 18 } as const;

/** Instructions waiting for a character, and matched types. */
interface Closure {
  readonly waiting: readonly number[];
  readonly matched: readonly number[];
}

interface State extends Closure {
  readonly before: Kind;
  /** No character was read: an empty match doesn't count. */
  readonly isStart: boolean;
}

/** The deterministic automaton of a program (subset construction); null if it needs more than the bounds. */
export function determinize(program: Program): Automaton | null {
  return new Determinizer(program).run();
}

class Determinizer {
  readonly #program: Program;
  readonly #alphabet: KnownAlphabet;
  readonly #width: number;
  readonly #types: number[];
  readonly #states: State[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #lists = new TypeLists();
  readonly #next: Uint16Array[] = [];
  readonly #late: (Uint16Array | null)[] = [];

  constructor(program: Program) {
    this.#program = program;
    this.#alphabet = knownAlphabet(program);
    this.#width = this.#alphabet.classes + 1;
    this.#types = typesOf(program);
    this.#index({ waiting: [], matched: [] }, kind.other, false);
  }

  run(): Automaton | null {
    const start = this.#closure(this.#program.starts, null);
    const starts = kinds.map((before) => this.#index({ ...start, matched: [] }, before, true));
    for (let state = 0; state < this.#states.length; state++) {
      if (state >= automatonBounds.states || state * this.#width > automatonBounds.cells) return null;
      this.#expand(state);
    }
    const tables = this.#tables(starts);
    const listed = tables.lists.reduce((sum, list) => sum + list.length, 0);
    return listed > automatonBounds.listed ? null : tables;
  }

  /** Follows what needs no character. Conditions are left for the next character unless `holding` has them. */
  #closure(from: Iterable<number>, holding: number | null): Closure {
    const { instructions } = this.#program;
    const waiting = new Set<number>();
    const matched = new Set<number>();
    const seen = new Set<number>();
    const stack = [...from];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const instruction = instructions[at];
      if (instruction === undefined) continue;
      if (instruction.kind === 'split') stack.push(...instruction.out);
      else if (instruction.kind === 'match') matched.add(instruction.type);
      else if (instruction.kind === 'set') waiting.add(at);
      else if (instruction.kind === 'condition') {
        if (holding === null) waiting.add(at);
        else if ((instruction.bits & ~holding) === 0) stack.push(instruction.out);
      }
    }
    return { waiting: sorted(waiting), matched: sorted(matched) };
  }

  #index(closure: Closure, before: Kind, isStart: boolean): number {
    const { instructions } = this.#program;
    const conditional = closure.waiting.some((at) => instructions[at]?.kind === 'condition');
    const known = conditional ? before : kind.other;
    const key = `${closure.waiting.join(',')};${closure.matched.join(',')};${known};${isStart}`;
    let index = this.#indexes.get(key);
    if (index === undefined) {
      index = this.#states.push({ ...closure, before: known, isStart }) - 1;
      this.#indexes.set(key, index);
    }
    return index;
  }

  #expand(state: number): void {
    const known = this.#states[state];
    if (known === undefined) return;
    const { waiting, before, isStart } = known;
    const { instructions } = this.#program;
    const next = new Uint16Array(this.#width);
    let late: Uint16Array | null = null;
    const conditional = waiting.filter((at) => instructions[at]?.kind === 'condition');
    const afters = conditional.length === 0 ? [null] : kinds;
    for (const after of afters) {
      const passed =
        after === null
          ? { waiting: [], matched: [] }
          : this.#closure(conditional, conditionsBetween(before, after));
      if (passed.matched.length > 0 && !isStart) {
        late ??= new Uint16Array(this.#width);
        const list = this.#lists.index(passed.matched);
        for (let each = 0; each < this.#width; each++) {
          if (this.#alphabet.kindOf[each] === after) late[each] = list;
        }
      }
      this.#follow([...waiting, ...passed.waiting], after, next);
    }
    this.#next[state] = next;
    this.#late[state] = late;
  }

  /** Fills the next states for classes of one kind, or of all. */
  #follow(waiting: readonly number[], after: Kind | null, next: Uint16Array): void {
    const { instructions } = this.#program;
    const { members, kindOf } = this.#alphabet;
    const targets = new Map<number, Set<number>>();
    for (const at of waiting) {
      const instruction = instructions[at];
      if (instruction?.kind !== 'set') continue;
      for (const each of members[instruction.set] ?? []) {
        if (after !== null && kindOf[each] !== after) continue;
        const there = targets.get(each);
        if (there === undefined) targets.set(each, new Set([instruction.out]));
        else there.add(instruction.out);
      }
    }
    const known = new Map<string, Closure>();
    for (const [each, out] of targets) {
      const key = [...out].join(',');
      let closure = known.get(key);
      if (closure === undefined) {
        closure = this.#closure(out, null);
        known.set(key, closure);
      }
      next[each] = this.#index(closure, kindAt(kindOf, each), false);
    }
  }

  #tables(starts: readonly number[]): Automaton {
    const { pages, leaves, kindOf } = this.#alphabet;
    const width = this.#width;
    const next = joined(this.#next, width);
    const late = this.#late.some((each) => each !== null) ? joined(this.#late, width) : null;
    const matched = Uint16Array.from(this.#states, (state) => this.#lists.index(state.matched));
    const ahead = Uint16Array.from(this.#typesAhead(), (types) => this.#lists.index(types));
    // States without a match, now or ahead, are dropped.
    for (const [cell, state] of next.entries()) {
      if (ahead[state] === 0 && matched[state] === 0) next[cell] = 0;
    }
    return {
      classes: width,
      pages,
      leaves,
      kindOf,
      starts: Uint16Array.from(starts),
      next,
      late,
      matched,
      ahead,
      lists: this.#lists.all,
    };
  }

  /** The types ahead of each state, found backwards from the states where they match. */
  #typesAhead(): number[][] {
    const ahead = this.#states.map(() => new Set<number>());
    const before = this.#predecessors();
    const queue: { state: number; type: number }[] = [];
    const reach = (state: number, type: number): void => {
      const known = ahead[state];
      if (known === undefined || known.has(type)) return;
      known.add(type);
      queue.push({ state, type });
    };
    for (const [state, { matched }] of this.#states.entries()) {
      for (const type of matched) for (const each of before[state] ?? []) reach(each, type);
      for (const list of new Set(this.#late[state] ?? [])) {
        for (const type of this.#lists.all[list] ?? []) reach(state, type);
      }
    }
    for (let last = queue.pop(); last !== undefined; last = queue.pop()) {
      for (const each of before[last.state] ?? []) reach(each, last.type);
    }
    return ahead.map((types) => (types.size === this.#types.length ? this.#types : sorted(types)));
  }

  #predecessors(): Set<number>[] {
    const before = this.#states.map(() => new Set<number>());
    for (const [state, row] of this.#next.entries()) {
      for (const each of new Set(row)) if (each !== 0) before[each]?.add(state);
    }
    return before;
  }
}

/** Lists of types, each once. */
class TypeLists {
  readonly all: Uint16Array[] = [new Uint16Array(0)];
  readonly #indexes = new Map<string, number>([['', 0]]);

  index(types: readonly number[]): number {
    const key = types.join(',');
    let index = this.#indexes.get(key);
    if (index === undefined) {
      index = this.all.push(Uint16Array.from(types)) - 1;
      this.#indexes.set(key, index);
    }
    return index;
  }
}

function typesOf({ instructions }: Program): number[] {
  return sorted(new Set(instructions.flatMap((each) => (each.kind === 'match' ? [each.type] : []))));
}

function kindAt(kindOf: Uint8Array, index: number): Kind {
  return kinds[kindOf[index] ?? kind.other] ?? kind.other;
}

function sorted(values: Iterable<number>): number[] {
  return [...values].toSorted((a, b) => a - b);
}

function joined(rows: readonly (Uint16Array | null)[], width: number): Uint16Array {
  const table = new Uint16Array(rows.length * width);
  for (const [i, row] of rows.entries()) if (row !== null) table.set(row, i * width);
  return table;
}
