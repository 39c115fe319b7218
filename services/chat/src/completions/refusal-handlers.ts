import type { IncomingMessage } from 'node:http';
import { tenantOf, type RawCall } from '@gatehouse/http/app';
import type { Operation } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { toAppError } from '@gatehouse/kit/errors';
import type { RefusedRequests } from '../recording/refused-requests.ts';
import { clientNamed } from '../shared/client-name.ts';
import type { Turn } from '../turns/turn.ts';
import { sessionOf } from './client-headers.ts';
import type { RequestBody } from './named-request-handlers.ts';

/** The facts of a request that are known so far. */
export interface RequestedFacts {
  operation: Operation;
  /** Empty until the request is read. */
  model: string;
  agentId: string | null;
  turn: Pick<Turn, 'hasRun'> | null;
}

/** A parser that also notes the model that a request asks for. */
export function notingModel(facts: RequestedFacts, parse: RequestBody['parse']): RequestBody['parse'] {
  return (text, parsed) => {
    const request = parse(text, parsed);
    facts.model = request.model;
    return request;
  };
}

interface FailedRequest {
  incoming: IncomingMessage;
  call: Pick<RawCall, 'principal' | 'requestId' | 'trace'> & { dialect: { name: ApiName } };
  facts: RequestedFacts;
}

/** Counts a request if its error is a refusal: 4xx for a client that is still there, before any provider call. */
export function noteRefusal(
  refusals: Pick<RefusedRequests, 'note'>,
  { incoming, call, facts }: FailedRequest,
  thrown: unknown,
): void {
  const { status, publicCode: code, message } = toAppError(thrown);
  if (status < 400 || status >= 499 || facts.turn?.hasRun === true) return;
  const { tenantId, keyId, userId } = tenantOf(call);
  refusals.note({
    tenant_id: tenantId,
    code,
    message,
    operation: facts.operation,
    request_model: facts.model,
    agent_id: facts.agentId,
    channel: 'api',
    dialect: call.dialect.name,
    client: clientNamed(incoming.headers['user-agent']),
    user_id: userId,
    api_key_id: keyId,
    request_id: call.requestId,
    trace_id: call.trace.traceId,
    session_id: sessionIn(incoming),
  });
}

/** The session that a header names; null for one that is not valid, which may be why the request was refused. */
function sessionIn(incoming: IncomingMessage): string | null {
  try {
    return sessionOf(incoming);
  } catch {
    return null;
  }
}
