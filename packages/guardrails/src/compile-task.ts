import type { Automaton } from './automaton.ts';
import { compileRules } from './compile-rules.ts';
import type { DefinitionProblem, PatternsDefinition } from './definition.ts';
import { patternRules, problemOf } from './pattern-rules.ts';
import { RuleError } from './rule.ts';

/** Patterns to compile. */
export interface CompileInput {
  readonly check: PatternsDefinition;
  /** Texts are held until their end. */
  readonly isHeld: boolean;
  /** The tables are needed; else the problem alone. */
  readonly needsTables: boolean;
}

/** Tables of patterns, or the reason against them. */
export type CompileOutput =
  | { readonly automata: readonly Automaton[] }
  | { readonly problem: DefinitionProblem };

/** Compiles patterns in a process of the sandbox. */
export function compile({ check, isHeld, needsTables }: CompileInput): CompileOutput {
  try {
    const automata = compileRules(patternRules(check, isHeld));
    return { automata: needsTables ? automata : [] };
  } catch (error) {
    if (!(error instanceof RuleError)) throw error;
    return { problem: problemOf(check, error) };
  }
}
