import type { IncomingMessage, ServerResponse } from 'node:http';
import { defaultDialect, type DialectName } from '@gatehouse/contract/dialects';
import type { Route } from '@gatehouse/contract/routes';
import { requestContext, type RequestContext } from '@gatehouse/http/request-context';
import { requestSpan } from '@gatehouse/http/request-span';
import type { RefusedRequests } from '@gatehouse/events/refused-requests';
import type { Principal } from '@gatehouse/identity/principal';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { Histogram } from '@gatehouse/kit/metrics';
import type { Tracer } from '@gatehouse/kit/tracing';
import { noteRefusal } from '../refusals/refusal.ts';
import type { NamedKey } from '../shared/named-key.ts';

/** Facts known about a request so far; the gateway fills them in. */
export interface AccessEntry extends RequestContext {
  readonly arrivedAt: number;
  /** Null until one matches; the relay's own route for requests the relay rejects. */
  route: Route | null;
  relayed: boolean;
  /** The dialect in which the client gets errors. */
  dialect: DialectName;
  principal: Principal | null;
  /** The key of the request once its secret is known to be right, also if it is refused. */
  key: NamedKey | null;
  /** The user that the request acts for, once key and user are accepted; before, a name may be an alias of the user. */
  userId: string | null;
  /** The code of an error that the client gets. */
  code: string | undefined;
  /** An error of the edge itself. */
  failure: AppError | null;
}

export interface AccessLogOptions {
  log: Logger;
  duration: Histogram<'route' | 'status'>;
  tracer?: Tracer | undefined;
  refusals: Pick<RefusedRequests, 'note'>;
}

/** Records every request once, when its response closes: a log line, the duration, a span, and a count if it is refused. */
export class AccessLog {
  readonly #options: AccessLogOptions;

  constructor(options: AccessLogOptions) {
    this.#options = options;
  }

  open(request: IncomingMessage, response: ServerResponse): AccessEntry {
    const entry: AccessEntry = {
      ...requestContext(request),
      arrivedAt: monotonicMs(),
      route: null,
      relayed: false,
      dialect: defaultDialect,
      principal: null,
      key: null,
      userId: null,
      code: undefined,
      failure: null,
    };
    response.on('close', () => this.#record(request, response, entry));
    return entry;
  }

  #record(request: IncomingMessage, response: ServerResponse, entry: AccessEntry): void {
    const endedAt = monotonicMs();
    const durationMs = endedAt - entry.arrivedAt;
    const status = finalStatus(request, response);
    const routeId = entry.route?.id ?? 'none';
    const tenantId = entry.principal?.tenantId ?? undefined;
    const { log, duration, tracer, refusals } = this.#options;
    const { failure: error } = entry;
    if (error !== null && status === error.status) {
      noteRefusal(refusals, { ...entry, error, userAgent: request.headers['user-agent'] });
    }
    duration.observe({ route: routeId, status }, durationMs / 1_000);
    log.info(
      {
        request_id: entry.requestId,
        trace_id: entry.trace.traceId,
        method: request.method,
        route: routeId,
        relayed: entry.relayed || undefined,
        status,
        code: entry.code,
        duration_ms: Math.round(durationMs),
        tenant_id: tenantId,
        key_id: entry.principal?.keyId ?? undefined,
      },
      'request',
    );
    tracer?.record(
      requestSpan({
        context: entry,
        method: request.method ?? '',
        route: entry.route,
        status,
        startedAt: entry.arrivedAt,
        endedAt,
        attributes: { 'gatehouse.tenant_id': tenantId, 'gatehouse.key_id': entry.principal?.keyId },
      }),
    );
  }
}

/** The response's status, or 499 (nginx's number) when the client left before its response was complete. */
function finalStatus(request: IncomingMessage, response: ServerResponse): number {
  // A response sent before the end of the request's body is complete, even if the client then leaves.
  const early = response.headersSent && !request.complete;
  return response.writableFinished || early ? response.statusCode : 499;
}
