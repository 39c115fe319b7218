import type { DialectName } from '@gatehouse/contract/dialects';
import type { GuardrailOutcome } from '@gatehouse/contract/guardrail-results';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import type { Recall } from '@gatehouse/events/run-event';
import type { ClientName } from '@gatehouse/kit/client-name';
import type { Operation } from '@gatehouse/dialects/dialect';
import type { Cost, RunCost } from '../catalogue/price.ts';
import type { Usage } from '@gatehouse/dialects/usage/usage';

/** A run is one accepted request; an attempt is one provider call for it. */

/** `blocked`: a guardrail has ended it. */
export type RunStatus = 'ok' | 'error' | 'cancelled' | 'interrupted' | 'blocked';

export interface RunIdentity {
  id: string;
  tenantId: string;
  operation: Operation;
  /** The entrance of the request: `api`, `webhook`, … */
  channel: string;
  requestId: string;
  traceId: string;
  spanId: string;
  /** Null if no request with a key began the run. */
  apiKeyId: string | null;
  userId: string | null;
  /** The names of the user's groups when it began; absent without one. */
  groups?: readonly string[];
  sessionId: string | null;
  /** The format in which its client asked; null if no client's request began it. */
  dialect: DialectName | null;
  /** The program of the client; null for the same runs. */
  client: ClientName | null;
  agentId: string | null;
  requestModel: string;
  streamed: boolean;
  /** Whether its providers are called with keys of the tenant's own. */
  ownKey: boolean;
  inputPreview: string | null;
  /** The search in the agent's memory; null without one. */
  recall: Recall | null;
  /** Charges of its first call; null when no budget is set. */
  charges: readonly BudgetCharge[] | null;
}

/** A budget a provider call was reserved in and is charged to. */
export interface BudgetCharge {
  /** The tenant or one of its keys. */
  subjectId: string;
  /** Milliseconds since the epoch. */
  windowStart: number;
}

export interface AttemptStart {
  id: string;
  /** 1 is the first provider call of the run. */
  number: number;
  provider: string;
  /** Id in the catalogue. */
  model: string;
  upstreamModel: string;
  /** Absent for a call for the answer. */
  purpose?: 'guardrail';
  inputTokensGuess: number;
  /** Decimal pico-USD held for it by budgets; absent without a budget. */
  reservedPico?: string;
  /** Absent where they are those of the call before; of the first call: those of its run. */
  charges?: readonly BudgetCharge[];
}

export type AttemptStatus = 'ok' | 'error' | 'cancelled' | 'not_sent' | 'interrupted';

export interface AttemptEnd {
  id: string;
  status: AttemptStatus;
  /** From the start of the run, in milliseconds; null if it was not measured. */
  offsetMs: number | null;
  durationMs: number | null;
  timeToFirstTokenMs: number | null;
  httpStatus: number | null;
  errorCode: string | null;
  responseModel: string | null;
  usage: Usage;
  /** Null where there are tokens and no price is known for them. */
  cost: Cost | null;
  /** The charge to budgets where it is not the cost, which is unknown. */
  chargePico?: bigint;
}

export type Attempt = AttemptStart & AttemptEnd;

export interface RunEnd {
  status: RunStatus;
  durationMs: number | null;
  timeToFirstTokenMs: number | null;
  provider: string | null;
  model: string | null;
  responseModel: string | null;
  usage: Usage;
  cost: RunCost;
  /** The charge to budgets where it is not the cost, of which a part is unknown. */
  chargePico?: bigint;
  errorType: string | null;
  errorMessage: string | null;
  outputPreview: string | null;
  /** Replaces the one of its identity; absent unless checks came after its start. */
  inputPreview?: string;
  tools: readonly ToolSpan[];
  /** Absent for a run without guardrails. */
  guardrails?: readonly GuardrailResult[];
}

/** The findings of a guardrail in the texts of one kind. */
export interface GuardrailResult {
  name: string;
  on: GuardedText;
  outcome: GuardrailOutcome;
  /** Matches by their type. */
  types: Record<string, number>;
  durationMs: number;
  costPico: bigint;
}

/** The outcome of a tool that the agent names and that doesn't exist: no call was made. */
export const missingTool = 'unknown_mcp_server';

/** Call of a tool made by the gateway. */
export interface ToolSpan {
  id: string;
  /** As models get it. */
  name: string;
  /** Its server and its name there; null for tools of the gateway. */
  server: string | null;
  tool: string;
  /** `ok`, `error`, or what went wrong. */
  outcome: string;
  /** From the start of the run, in milliseconds. */
  offsetMs: number;
  durationMs: number;
}

/** The span of a tool of the agent that doesn't exist. */
export function missingToolSpan(id: string, name: string): ToolSpan {
  return { id, name, server: null, tool: name, outcome: missingTool, offsetMs: 0, durationMs: 0 };
}

/** A call of a tool by the gateway. */
export interface CalledTool extends Pick<ToolSpan, 'name' | 'server' | 'tool' | 'outcome'> {
  startedAt: number;
  endedAt: number;
}

/** An answer stored with the end of its run, for repeats of the call. */
export interface StoredAnswer {
  /** Claim of the call waiting for it. */
  claimId: string;
  /** Encrypted. */
  sealed: Buffer;
}

/** A run while it lasts, for what is stored of its answer: nothing if its user is forgotten in the time since it began. */
export interface LastingRun {
  id: string;
  /** Since its request came, with a margin for the time until the database is asked. */
  ageMs: number;
}

/** Stores an answer until its client asks for it again. The end of its run makes it visible. */
export type StoreResponse = (answer: Buffer, run: LastingRun & { provider: string }) => Promise<void>;

/** Makes what is stored of a whole answer. */
export type StoreAnswer = (
  answer: { bytes: Buffer; model: { id: string } },
  run: Pick<RunIdentity, 'id' | 'traceId'>,
) => StoredAnswer;
