import type { Route } from '@gatehouse/contract/routes';
import type { SpanAttributes, SpanRecord } from '@gatehouse/kit/tracing';
import type { RequestContext } from './request-context.ts';

export interface AnsweredRequest {
  context: RequestContext;
  method: string;
  /** Null where no route matched: the path itself may hold what is no business of a trace. */
  route: Route | null;
  /** What was sent; at the edge 499 where the client did not wait. */
  status: number;
  /** By `monotonicMs`, as `endedAt`. */
  startedAt: number;
  endedAt: number;
  /** Beyond the conventions'. */
  attributes?: SpanAttributes;
}

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

/**
 * The span of a request that was answered
 * (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server-span).
 */
export function requestSpan(request: AnsweredRequest): SpanRecord {
  const { route, status, startedAt, endedAt } = request;
  const known = knownMethods.has(request.method);
  const failed = status >= 500;
  return {
    context: request.context.trace,
    name: [known ? request.method : 'HTTP', ...(route === null ? [] : [route.path])].join(' '),
    kind: 'server',
    startedAt,
    endedAt,
    attributes: {
      'http.request.method': known ? request.method : '_OTHER',
      'http.route': route?.path,
      'http.response.status_code': status,
      'error.type': failed ? String(status) : undefined,
      'gatehouse.request_id': request.context.requestId,
      ...request.attributes,
    },
    failed,
  };
}
