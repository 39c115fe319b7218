import { type Automaton, bytesOf } from './automaton.ts';
import { determinize } from './determinize.ts';
import { programOf } from './program.ts';
import { type Rule, RuleError } from './rule.ts';

/** A match is decided within so many characters of its start, and then after each of its longest parts. */
export const decidedWithin = 256;

/** The most bytes of all automata of one check: 32 of them fit into a tenant's part of the memory for all tenants. */
export const maxCheckBytes = 1_000_000;

/** More automata of one check take too much time for each character. */
const maxAutomata = 8;

/**
 * Compiles rules into as few automata as the bounds of one allow. It takes processor time: run it apart from the event
 * loop. Throws RuleError for a rule with invalid syntax, with too many states, or with more than `decidedWithin`
 * characters before a match is certain.
 */
export function compileRules(rules: readonly Rule[]): Automaton[] {
  for (const [index, rule] of rules.entries()) checkAlone(rule, index);
  return rules.length === 0 ? [] : automataOf(rules);
}

function checkAlone(rule: Rule, index: number): void {
  const automaton = determinize(programOf([rule], index));
  if (automaton === null || bytesOf(automaton) > maxCheckBytes) {
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

/** Some rules of a check, and their automaton: null, and infinite bytes, if it needs more than its bounds. */
interface RulesPart {
  readonly rules: readonly Rule[];
  readonly automaton: Automaton | null;
  readonly bytes: number;
}

function partOf(rules: readonly Rule[]): RulesPart {
  const automaton = determinize(programOf(rules));
  return { rules, automaton, bytes: automaton === null ? Infinity : bytesOf(automaton) };
}

/** Divides the largest part of the rules in halves until all automata together are in their bounds. */
function automataOf(rules: readonly Rule[]): Automaton[] {
  const parts = [partOf(rules)];
  while (parts.reduce((sum, { bytes }) => sum + bytes, 0) > maxCheckBytes) {
    const divisible = parts.filter((part) => part.rules.length > 1);
    const [largest] = divisible.toSorted((a, b) => (a.bytes < b.bytes ? 1 : -1));
    if (largest === undefined || parts.length === maxAutomata)
      throw new RuleError('invalid_pattern', null, 'the patterns together need too many states');
    const half = largest.rules.length >> 1;
    const halves = [largest.rules.slice(0, half), largest.rules.slice(half)].map(partOf);
    parts.splice(parts.indexOf(largest), 1, ...halves);
  }
  return parts.flatMap(({ automaton }) => automaton ?? []);
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
