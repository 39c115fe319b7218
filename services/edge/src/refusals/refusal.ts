import type { DialectName } from '@gatehouse/contract/dialects';
import { runOperation, type Route } from '@gatehouse/contract/route';
import type { RefusedRequests } from '@gatehouse/events/refused-requests';
import { clientNamed } from '@gatehouse/kit/client-name';
import type { AppError } from '@gatehouse/kit/errors';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { NamedKey } from '../shared/named-key.ts';

/** A request answered by the edge with an error of its own. */
export interface FailedRequest {
  error: Pick<AppError, 'status' | 'publicCode' | 'message'>;
  route: Route | null;
  key: NamedKey | null;
  /** The user of the request by the id under which the user's data is stored; null until it is known. */
  userId: string | null;
  dialect: DialectName;
  requestId: string;
  trace: TraceContext;
  userAgent: string | undefined;
}

/**
 * Counts a request of a tenant's key for a run, answered 4xx by the edge itself: the service
 * behind it has never seen it. The model is unknown, because the edge reads no bodies.
 */
export function noteRefusal(
  refusals: Pick<RefusedRequests, 'note'>,
  { error, route, key, userId, dialect, requestId, trace, userAgent }: FailedRequest,
): void {
  const operation = route === null ? null : runOperation(route);
  const { tenantId = null } = key ?? {};
  if (operation === null || key === null || tenantId === null || error.status < 400 || error.status >= 499)
    return;
  refusals.note({
    tenant_id: tenantId,
    code: error.publicCode,
    message: error.message,
    operation,
    model: '',
    request_model: '',
    agent_id: null,
    channel: 'api',
    dialect,
    client: clientNamed(userAgent),
    user_id: userId,
    api_key_id: key.keyId,
    request_id: requestId,
    trace_id: trace.traceId,
    session_id: null,
  });
}
