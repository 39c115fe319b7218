import type { IncomingMessage } from 'node:http';
import { newId } from '@gatehouse/kit/ids';
import { childSpan, continueTrace, type TraceContext } from '@gatehouse/kit/trace-context';

/** The ids of one request in logs, traces and error messages. */
export interface RequestContext {
  requestId: string;
  trace: TraceContext;
}

export const requestIdHeader = 'x-request-id';

const validRequestId = /^[A-Za-z0-9_.-]{1,128}$/;

/** Keeps a valid incoming request id and trace context, or creates new ones. */
export function requestContext(request: IncomingMessage): RequestContext {
  const incoming = request.headers[requestIdHeader];
  const requestId = typeof incoming === 'string' && validRequestId.test(incoming) ? incoming : newId();
  const traceparent = request.headers['traceparent'];
  return { requestId, trace: continueTrace(typeof traceparent === 'string' ? traceparent : undefined) };
}

/** The ids of a request inside a service, to which the edge of its process hands it over. */
export function innerContext({ requestId, trace }: RequestContext): RequestContext {
  return { requestId, trace: childSpan(trace) };
}
