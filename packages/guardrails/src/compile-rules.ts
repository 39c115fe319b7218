import { type Automaton, bytesOf } from './automaton.ts';
import { determinize } from './determinize.ts';
import { programOf } from './program.ts';
import { type Rule, RuleError } from './rule.ts';

/** A match is decided within so many characters of its start, and then after each of its longest parts. */
export const decidedWithin = 256;

/** The most bytes of all automata of one check: a process holds those of many tenants. */
const maxBytes = 8 * 2 ** 20;

/** More automata of one check take too much time for each character. */
const maxAutomata = 8;

/**
 * Compiles rules into as few automata as the bounds of one allow. It takes processor time: run it apart from the event
 * loop. Throws RuleError for a rule with invalid syntax, with too many states, or with more than `decidedWithin`
 * characters before a match is certain.
 */
export function compileRules(rules: readonly Rule[]): Automaton[] {
  for (const [index, rule] of rules.entries()) checkAlone(rule, index);
  const automata = rules.length === 0 ? [] : automataOf(rules);
  const bytes = automata.reduce((sum, each) => sum + bytesOf(each), 0);
  if (automata.length > maxAutomata || bytes > maxBytes) {
    throw new RuleError('invalid_pattern', null, 'the patterns together need too many states');
  }
  return automata;
}

function checkAlone(rule: Rule, index: number): void {
  const automaton = determinize(programOf([rule], index));
  if (automaton === null) {
    throw new RuleError(
      'invalid_pattern',
      index,
      'the expression needs too many states: bound its repetitions',
    );
  }
  if (!rule.wholeText && !isDecided(automaton)) {
    throw new RuleError(
      'pattern_unbounded',
      index,
      `the expression reads more than ${decidedWithin} characters before it has matched`,
    );
  }
}

/** Splits rules in halves until each half's automaton is in its bounds; a single rule was checked. */
function automataOf(rules: readonly Rule[]): Automaton[] {
  const automaton = determinize(programOf(rules));
  if (automaton !== null) return [automaton];
  const half = rules.length >> 1;
  return [rules.slice(0, half), rules.slice(half)].flatMap(automataOf);
}

/** Whether every way through the automaton of one rule is shorter than the bound, or has a match on it. */
function isDecided(automaton: Automaton): boolean {
  const edges = undecidedEdges(automaton);
  const incoming = new Uint32Array(edges.length);
  for (const targets of edges) for (const target of targets) incoming[target] = (incoming[target] ?? 0) + 1;
  const lengths = new Uint32Array(edges.length);
  const ready = [...edges.keys()].filter((state) => incoming[state] === 0);
  let done = 0;
  for (let state = ready.pop(); state !== undefined; state = ready.pop()) {
    done++;
    for (const target of edges[state] ?? []) {
      lengths[target] = Math.max(lengths[target] ?? 0, (lengths[state] ?? 0) + 1);
      incoming[target] = (incoming[target] ?? 0) - 1;
      if (incoming[target] === 0) ready.push(target);
    }
  }
  // The remaining states are on a cycle.
  return done === edges.length && lengths.every((length) => length < decidedWithin);
}

/** Next states reached without a match. */
function undecidedEdges({ classes, next, late, matched, ahead }: Automaton): number[][] {
  return Array.from(matched, (_, state) => {
    const targets = new Set<number>();
    for (let cell = state * classes; cell < (state + 1) * classes; cell++) {
      const target = next[cell] ?? 0;
      const hasMatch = (late?.[cell] ?? 0) !== 0 || (matched[target] ?? 0) !== 0;
      if (ahead[target] !== 0 && !hasMatch) targets.add(target);
    }
    return [...targets];
  });
}
