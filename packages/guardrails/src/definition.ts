import type { PiiSettings } from './checks/pii.ts';
import type { SecretType } from './checks/secrets.ts';

/** The check of a guardrail for personal data, in the words of the API. */
export interface PiiDefinition extends PiiSettings {
  readonly type: 'pii';
}

/** The check of a guardrail for secrets. */
export interface SecretsDefinition {
  readonly type: 'secrets';
  readonly types?: readonly SecretType[];
}

/** The check of a guardrail for patterns and words of a tenant. */
export interface PatternsDefinition {
  readonly type: 'patterns';
  readonly patterns: readonly {
    readonly name: string;
    readonly regex: string;
    readonly case_sensitive: boolean;
  }[];
  readonly words: readonly string[];
}

/** As much of a guardrail as decides about its matches. */
export interface GuardrailDefinition {
  readonly check: PiiDefinition | SecretsDefinition | PatternsDefinition;
  /** Texts to let pass: whole, in any case; `*` stands for any text. */
  readonly except: readonly string[];
  /** With `answer`, texts are held until their end: patterns need no bound. */
  readonly hold: number | 'answer' | null;
}

/** Why a guardrail can't be saved. */
export interface DefinitionProblem {
  readonly code: 'invalid_pattern' | 'pattern_unbounded' | 'invalid_value';
  /** The member of the guardrail; `check.patterns` for all patterns together. */
  readonly param: string;
  /** A sentence, with the name of the pattern. */
  readonly message: string;
}
