import { RE2JS, RE2JSException } from 're2js';
import { type Rule, RuleError } from './rule.ts';
import type { Ranges } from './alphabet.ts';

/** Conditions between two characters, as bits: those of RE2, then the edges of words in any script. */
export const condition = {
  beginLine: 1,
  endLine: 2,
  beginText: 4,
  endText: 8,
  wordBoundary: 16,
  noWordBoundary: 32,
  edgeBefore: 64,
  edgeAfter: 128,
} as const;

/** An instruction of a program. */
export type Instruction =
  | { readonly kind: 'set'; readonly set: number; readonly out: number }
  | { readonly kind: 'split'; readonly out: readonly number[] }
  | { readonly kind: 'condition'; readonly bits: number; readonly out: number }
  | { readonly kind: 'match'; readonly type: number }
  | { readonly kind: 'fail' };

/** Rules as one nondeterministic automaton: Thompson's, by the parser and the compiler of RE2. */
export interface Program {
  readonly instructions: readonly Instruction[];
  readonly starts: readonly number[];
  /** Sets of code points; instructions name them by index. */
  readonly sets: readonly Ranges[];
}

/** Operations of RE2's programs. */
const operation = {
  alt: 1,
  altMatch: 2,
  capture: 3,
  emptyWidth: 4,
  fail: 5,
  match: 6,
  nop: 7,
  rune: 8,
  rune1: 9,
  runeAny: 10,
  runeAnyNotNewline: 11,
} as const;

/** As much of a compiled instruction as is used here. */
interface CompiledInstruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  readonly runes: ArrayLike<number>;
  matchRune(rune: number): boolean;
}

/** Larger expressions take too long to make deterministic. */
const maxInstructions = 5000;

/** Compiles rules by RE2's syntax. Throws RuleError for the first invalid or too large rule; `first` is the index of the first. */
export function programOf(rules: readonly Rule[], first = 0): Program {
  const builder = new ProgramBuilder();
  for (const [index, rule] of rules.entries()) builder.add(rule, first + index);
  return builder;
}

/** Letters, marks and numbers of all scripts. */
export const wordCharacters = once(() => rangesOf(String.raw`[\p{L}\p{M}\p{N}]`));

/** Characters of scripts without spaces between words. */
export const spacelessCharacters = once(() =>
  rangesOf(String.raw`[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]`),
);

/** The code points of one character class in RE2's syntax. */
function rangesOf(characterClass: string): Ranges {
  const { inst } = compiled(characterClass, 0);
  return inst.find(({ op }) => op === operation.rune)?.runes ?? [];
}

function once<Value>(make: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= make());
}

class ProgramBuilder implements Program {
  readonly instructions: Instruction[] = [];
  readonly starts: number[] = [];
  readonly sets: Ranges[] = [];
  readonly #known = new Map<string, number>();

  add(rule: Rule, index: number): void {
    const { inst, start } = parsed(rule, index);
    if (inst.length > maxInstructions) {
      throw new RuleError('invalid_pattern', index, 'the expression is too large');
    }
    const base = this.instructions.length;
    const after = base + inst.length;
    for (const each of inst) this.instructions.push(this.#instruction(each, base, after));
    // The match of a rule with an edge is behind a condition.
    if (rule.edges.end) this.#push({ kind: 'condition', bits: condition.edgeAfter, out: after + 1 });
    this.#push({ kind: 'match', type: rule.type });
    this.starts.push(
      rule.edges.start
        ? this.#push({ kind: 'condition', bits: condition.edgeBefore, out: base + start })
        : base + start,
    );
  }

  #push(instruction: Instruction): number {
    return this.instructions.push(instruction) - 1;
  }

  #instruction(instruction: CompiledInstruction, base: number, after: number): Instruction {
    const { op, out, arg } = instruction;
    switch (op) {
      case operation.alt:
      case operation.altMatch:
        return { kind: 'split', out: [base + out, base + arg] };
      case operation.capture:
      case operation.nop:
        return { kind: 'split', out: [base + out] };
      case operation.emptyWidth:
        return { kind: 'condition', bits: arg, out: base + out };
      case operation.match:
        return { kind: 'split', out: [after] };
      case operation.rune:
      case operation.rune1:
      case operation.runeAny:
      case operation.runeAnyNotNewline:
        return { kind: 'set', set: this.#set(instruction), out: base + out };
      default:
        return { kind: 'fail' };
    }
  }

  #set(instruction: CompiledInstruction): number {
    const ranges = codePointsOf(instruction);
    const key = Array.from(ranges).join(',');
    let set = this.#known.get(key);
    if (set === undefined) {
      set = this.sets.push(ranges) - 1;
      this.#known.set(key, set);
    }
    return set;
  }
}

function parsed(rule: Rule, index: number): { inst: CompiledInstruction[]; start: number } {
  try {
    return compiled(rule.regex, rule.caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new RuleError('invalid_pattern', index, error.message);
  }
}

function compiled(regex: string, flags: number): { inst: CompiledInstruction[]; start: number } {
  // The declarations of re2js leave the program out.
  return RE2JS.compile(regex, flags).re2().prog as { inst: CompiledInstruction[]; start: number };
}

function codePointsOf(instruction: CompiledInstruction): Ranges {
  const { op, runes } = instruction;
  if (op === operation.runeAny) return [0, 0x10ffff];
  if (op === operation.runeAnyNotNewline) return [0, 9, 11, 0x10ffff];
  if (runes.length !== 1) return runes;
  const rune = runes[0] ?? 0;
  const variants = (caseVariants().get(rune) ?? [rune]).filter((each) => instruction.matchRune(each));
  return variants.toSorted((a, b) => a - b).flatMap((each) => [each, each]);
}

/** For each letter, all letters differing from it in case alone. */
const caseVariants = once(() => {
  const groups = new Map<number, number[]>();
  // The last letter with a case is in Adlam.
  for (let code = 0; code <= 0x1e943; code++) {
    const letter = String.fromCodePoint(code);
    for (const other of [letter.toLowerCase(), letter.toUpperCase()]) {
      const otherCode = other.codePointAt(0) ?? code;
      if (other === letter || other.length > (otherCode > 0xffff ? 2 : 1)) continue;
      join(groups, code, otherCode);
    }
  }
  return groups;
});

function join(groups: Map<number, number[]>, a: number, b: number): void {
  const first = groups.get(a) ?? [a];
  const second = groups.get(b) ?? [b];
  if (first === second) return;
  first.push(...second);
  for (const each of first) groups.set(each, first);
}
