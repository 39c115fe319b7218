import type { GuardrailOutcome } from '@gatehouse/contract/guardrail-results';
import type { Guardrail } from '../policies/guardrail.ts';

/** A higher outcome of one text replaces that of others. */
export const outcomeRanks: Readonly<Record<GuardrailOutcome, number>> = {
  ...{ passed: 0, flagged: 1, masked: 1, substituted: 1, error: 2, blocked: 3 },
};

/** The outcome of a match. */
export const outcomes = {
  flag: 'flagged',
  mask: 'masked',
  substitute: 'substituted',
  block: 'blocked',
} as const satisfies Record<Guardrail['action'], GuardrailOutcome>;
