import type { Operation } from '@gatehouse/dialects/dialect';
import { maxRefusedResults } from '@gatehouse/events/refused-event';
import type { RefusedRequest, RefusedRequests } from '@gatehouse/events/refused-requests';
import { toAppError } from '@gatehouse/kit/errors';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Target } from '../catalogue/target.ts';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
import { resultsInEvent } from '../runs/run-record.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';
import type { Turn } from '../turns/turn.ts';

/** The facts of a request that are known so far. */
export interface RequestedFacts {
  operation: Operation;
  /** Empty until the request is read. */
  model: string;
  /** Null until the settings of the tenant are known. */
  settings: Pick<TenantSettings, 'allowedModels'> | null;
  target: Pick<Target, 'chain' | 'agentId'> | null;
  guardrails: Pick<RunGuardrails, 'results'> | null;
  turn: Pick<Turn, 'hasRun'> | null;
}

export interface RefusalDependencies {
  refusals: Pick<RefusedRequests, 'note'>;
  catalogue: Pick<Catalogue, 'entryOf'>;
}

/** The sender of a request, and its way in. */
export type RefusedOrigin = Pick<
  RefusedRequest,
  | 'tenant_id'
  | 'channel'
  | 'dialect'
  | 'client'
  | 'user_id'
  | 'api_key_id'
  | 'request_id'
  | 'trace_id'
  | 'session_id'
>;

interface FailedRequest {
  origin: RefusedOrigin;
  facts: RequestedFacts;
}

/**
 * The model of the catalogue in a request. Counts have no names of clients: any number of them could be invented, and
 * operators see counts.
 */
function knownModel(
  catalogue: Pick<Catalogue, 'entryOf'>,
  { model, settings, target }: RequestedFacts,
): string {
  if (settings === null) return '';
  return catalogue.entryOf(target?.chain[0].id ?? model, settings.allowedModels)?.id ?? '';
}

/** Counts a request if its error is a refusal: 4xx for a client still there, before any provider call. */
export function noteRefusal(
  { refusals, catalogue }: RefusalDependencies,
  { origin, facts }: FailedRequest,
  thrown: unknown,
): void {
  const { status, publicCode: code, message } = toAppError(thrown);
  if (status < 400 || status >= 499 || facts.turn?.hasRun === true) return;
  const results = code === 'content_blocked' ? (facts.guardrails?.results ?? []) : [];
  refusals.note({
    ...origin,
    code,
    message,
    operation: facts.operation,
    model: knownModel(catalogue, facts),
    request_model: facts.model,
    agent_id: facts.target?.agentId ?? null,
    ...(results.length > 0 && { guardrails: resultsInEvent(results, maxRefusedResults) }),
  });
}
