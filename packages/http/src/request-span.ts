import type { Route } from '@gatehouse/contract/routes';
import type { SpanAttributes, SpanRecord } from '@gatehouse/kit/tracing';
import type { RequestContext } from './request-context.ts';

export interface AnsweredRequest {
  context: RequestContext;
  method: string;
  /** Null when no route matched: the path is not used, because it may contain confidential text. */
  route: Route | null;
  /** Status of the response; at the edge, 499 when the client disconnected first. */
  status: number;
  /** By `monotonicMs`, like `endedAt`. */
  startedAt: number;
  endedAt: number;
  /** Additional attributes, beyond the semantic conventions. */
  attributes?: SpanAttributes;
}

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

/** The span of a finished request (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server-span). */
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
