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

/** The built-in checks of some guardrails: one scan of a text for all. */
export interface TextChecks {
  matchesIn(text: string): Steps<readonly CheckMatch[]>;
}

/** A guardrail with its compiled check. */
export interface CheckedGuardrail {
  guardrail: Guardrail;
  check: CompiledCheck;
}

/** The compiled checks of guardrails. */
export function textChecks(guardrails: readonly CheckedGuardrail[]): TextChecks {
  const checks = guardrails.map(({ check }) => check);
  return {
    *matchesIn(text) {
      if (checks.length === 0) return [];
      const scan = new TextScan(checks);
      const matches = new Map<string, TextMatch>();
      const pieces = [yield* scan.push(text), yield* scan.end()];
      for (const match of pieces.flatMap((piece) => piece.matches))
        matches.set(`${match.check},${match.type},${match.from}`, match);
      return [...matches.values()].flatMap(({ check, type, from, until }) => {
        const guardrail = guardrails[check]?.guardrail;
        return guardrail === undefined ? [] : [{ guardrail, type, from, until }];
      });
    },
  };
}
