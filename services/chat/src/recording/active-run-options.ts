import type { Logger } from '@gatehouse/kit/log';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { Operation } from '@gatehouse/dialects/dialect';
import type { FeeTool } from '@gatehouse/dialects/usage/fee-tools';
import type { TextSample } from '@gatehouse/dialects/usage/token-estimate';
import type { Model } from '../catalogue/catalogue.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import type { Admission, Reservation } from '../limits/admission.ts';
import type { NotePrompt } from '../limits/counted-prompts.ts';
import type { AnswerBounds } from '../limits/hidden-tokens.ts';
import type { SignatureOrigins } from '../providers/signature-origins.ts';
import type { AttemptStart, RunIdentity, GuardrailResult } from '../runs/run.ts';
import type { RunWriter } from './run-rows.ts';
import type { RunTelemetry } from './run-telemetry.ts';

/** A call of a model beside those for the answer of a run: for a guardrail. */
export interface SideCall {
  operation: Operation;
  /** Samples its prompt, for an estimate. */
  prompt: () => TextSample;
  /** Amounts reserved for it. */
  admission: Pick<Admission, 'reservation'>;
  bounds: AnswerBounds;
  /** Gets the charge for each attempt. */
  charged?: (costPico: bigint) => void;
}

/** A provider call under way. */
export interface OpenAttempt {
  start: AttemptStart;
  model: Model;
  trace: TraceContext;
  /** The price at this time counts. */
  calledAt: Date;
  startedAt: number;
  /** Whether the provider sent success headers, and will bill the call. */
  accepted: boolean;
  firstTokenAt: number | null;
  /** Tokens reserved for its answer. */
  reservedTokens: number;
  reservation: Reservation;
  /** Null for a call for the answer. */
  side: SideCall | null;
}

export interface ActiveRunOptions {
  identity: RunIdentity;
  recorder: RunWriter;
  pricing: Pricing;
  telemetry: RunTelemetry;
  log: Logger;
  /** The run's span. */
  trace: TraceContext;
  /** Samples the agent's additions before the client's messages, and these. Called once, for an estimate. */
  prompt: () => TextSample;
  previewChars: number;
  arrivedAt: number;
  /** Amounts of the tenant's limits reserved for it. */
  admission: Admission;
  /** For estimates of tokens not reported by a provider. */
  bounds: AnswerBounds;
  /** Tools of the provider charged to a budget. */
  feeTools: readonly FeeTool[];
  /** Gets the signatures of its answers; null where they are not kept. */
  signatures: Pick<SignatureOrigins, 'made'> | null;
  /** The findings of its guardrails; null without any. */
  guardrails: { results: readonly GuardrailResult[] } | null;
  /** Notes the tokens of its prompt; null where no limit depends on them. */
  notePrompt: NotePrompt | null;
}
