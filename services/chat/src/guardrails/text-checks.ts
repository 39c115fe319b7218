import type { CompiledCheck } from '@gatehouse/guardrails/compiled-check';
import { TextScan, type TextMatch } from '@gatehouse/guardrails/text-scan';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { Guardrail } from '../policies/guardrail.ts';

/** A match of a guardrail's check; `from` and `until` are UTF-16 offsets in its text. */
export interface CheckMatch {
  guardrail: Guardrail;
  type: string;
  from: number;
  until: number;
}

/** A check with the error it threw. */
export interface CheckFailure {
  guardrail: Guardrail;
  cause: unknown;
}

/** The result of checks: `matches` are those of checks without a failure. */
export interface TextFindings {
  matches: readonly CheckMatch[];
  failures: readonly CheckFailure[];
}

/** The built-in checks of some guardrails: one scan of a text for all. */
export interface TextChecks {
  findingsIn(text: string): Steps<TextFindings>;
}

/** A guardrail with its compiled check. */
export interface CheckedGuardrail {
  guardrail: Guardrail;
  check: CompiledCheck;
}

/** The compiled checks of guardrails. */
export function textChecks(guardrails: readonly CheckedGuardrail[]): TextChecks {
  return { findingsIn: (text) => findingsIn(guardrails, text) };
}

/** After a failure each check is made alone: the others hold. */
function* findingsIn(guardrails: readonly CheckedGuardrail[], text: string): Steps<TextFindings> {
  if (guardrails.length === 0) return { matches: [], failures: [] };
  const scanned = yield* attempted(matchesIn(guardrails, text));
  if ('result' in scanned) return { matches: scanned.result, failures: [] };
  const { cause } = scanned;
  if (guardrails.length === 1)
    return { matches: [], failures: guardrails.map(({ guardrail }) => ({ guardrail, cause })) };
  const findings: TextFindings[] = [];
  for (const each of guardrails) findings.push(yield* findingsIn([each], text));
  return {
    matches: findings.flatMap(({ matches }) => matches),
    failures: findings.flatMap(({ failures }) => failures),
  };
}

/** The result of steps, or their error. An error thrown where they yield, as for a client gone, passes. */
function* attempted<Result>(steps: Steps<Result>): Steps<{ result: Result } | { cause: unknown }> {
  for (;;) {
    let step: IteratorResult<unknown, Result>;
    try {
      step = steps.next();
    } catch (cause) {
      return { cause };
    }
    if (step.done === true) return { result: step.value };
    yield;
  }
}

function* matchesIn(guardrails: readonly CheckedGuardrail[], text: string): Steps<readonly CheckMatch[]> {
  const scan = new TextScan(guardrails.map(({ check }) => check));
  const matches = new Map<string, TextMatch>();
  const pieces = [yield* scan.push(text), yield* scan.end()];
  for (const match of pieces.flatMap((piece) => piece.matches))
    matches.set(`${match.check},${match.type},${match.from}`, match);
  return [...matches.values()].flatMap(({ check, type, from, until }) => {
    const guardrail = guardrails[check]?.guardrail;
    return guardrail === undefined ? [] : [{ guardrail, type, from, until }];
  });
}
