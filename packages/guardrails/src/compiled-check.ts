import type { Automaton } from './automaton.ts';
import type { Shape } from './checks/shape.ts';
import type { PatternsDefinition } from './definition.ts';
import { Exceptions } from './exceptions.ts';
import { patternTypes } from './pattern-rules.ts';

/** A built-in check, ready for scans. Many scans share it. */
export interface CompiledCheck {
  /** The reported types of matches; automata and shapes name types by index. */
  readonly types: readonly string[];
  readonly automata: readonly Automaton[];
  readonly shapes: readonly { readonly shape: Shape; readonly type: number }[];
  readonly exceptions: Exceptions | null;
}

/** A check for shapes, which needs no compiler. */
export function shapesCheck(shapes: readonly Shape[], except: readonly string[]): CompiledCheck {
  const types = [...new Set(shapes.map(({ type }) => type))];
  return {
    types,
    automata: [],
    shapes: shapes.map((shape) => ({ shape, type: types.indexOf(shape.type) })),
    exceptions: exceptionsOf(except),
  };
}

/** A check for the patterns of a tenant, of their tables. */
export function patternsCheck(
  check: PatternsDefinition,
  automata: readonly Automaton[],
  except: readonly string[],
): CompiledCheck {
  return { types: patternTypes(check), automata, shapes: [], exceptions: exceptionsOf(except) };
}

function exceptionsOf(except: readonly string[]): Exceptions | null {
  return except.length === 0 ? null : new Exceptions(except);
}
