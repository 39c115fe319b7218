import type { GuardrailOutcome } from '@gatehouse/contract/guardrail-results';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import type { Guardrail } from '../policies/guardrail.ts';
import type { OutsideGuardrail } from './outside/outside-guardrails.ts';
import type { Substitution } from './substitution.ts';
import type { CheckFailure, KindChecks } from './text-checks.ts';

/** A guardrail has found something in a text of this kind. */
export interface Finding {
  guardrail: Guardrail;
  on: GuardedText;
  outcome: GuardrailOutcome;
}

export interface RunGuardrailsOptions {
  guardrails: readonly Guardrail[];
  /** Those with a check that works: texts pass the others, which are open. */
  applied: ReadonlySet<Guardrail>;
  /** The checks of each kind of text; absent where no guardrail is on it. */
  checks: ReadonlyMap<GuardedText, KindChecks>;
  /** Those of the guardrails asking a model or a server. */
  outside: readonly OutsideGuardrail[];
  /** The substituted values; null without a guardrail for them. */
  substitution: Substitution | null;
  /** Whether the texts of its request are of earlier ones. */
  isOlder?: boolean;
  /** Those with a check that failed before there was anything to check. */
  failing: readonly Guardrail[];
  /** A finding of an admitted run. */
  onFinding: (finding: Finding) => void;
  onFailure: (failure: CheckFailure) => void;
  /** A check has failed for an admitted run. */
  onFailing: (guardrail: Guardrail) => void;
}
