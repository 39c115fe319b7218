import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorBody, type AppError } from '@gatehouse/kit/errors';
import { hasBody } from './body.ts';
import { isUninvited } from './expect-continue.ts';
import { requestIdHeader } from './request-context.ts';

/** What a handler answers. */
export interface Reply {
  /** Default: the route's. */
  status?: number;
  body?: unknown;
  headers?: Record<string, string> | undefined;
}

/** How long the rest of a request's body may take to arrive once its answer is known. */
const discardMs = 5_000;

/** Sends a JSON document with its exact length. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = Buffer.from(JSON.stringify(body));
  closeWhenEarly(response);
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json',
    'content-length': text.length,
  });
  endAnswer(response, text);
}

/** Before the head of an answer: one that comes before the end of its request's body is the last on its connection. */
export function closeWhenEarly(response: ServerResponse): void {
  if (isArriving(response.req)) response.setHeader('connection', 'close');
}

/**
 * Ends an answer. While its request's body is still arriving, that is read on first and thrown away: a client whose
 * connection is closed in the middle of its body never reads the answer that says why, and a connection on which
 * nobody reads on is dead for the next request.
 */
export function endAnswer(response: ServerResponse, last?: Buffer): void {
  const { req: request } = response;
  if (!isArriving(request)) {
    response.end(last);
    return;
  }
  if (last !== undefined) response.write(last);
  const timer = setTimeout(() => response.end(), discardMs).unref();
  request.once('close', () => clearTimeout(timer));
  request.once('end', () => response.end());
  // A reader that has not let go of the request yet keeps it from flowing; this listener makes it flow once that has.
  request.on('data', () => {});
  request.resume();
}

/** Whether a body is under way. A request without one is not complete, for Node, until its handler has returned. */
function isArriving(request: IncomingMessage): boolean {
  return !request.complete && hasBody(request) && !isUninvited(request);
}

/** What every answer at the gateway's door carries, whoever made it. */
export function doorHeaders(requestId: string): Record<string, string> {
  return { [requestIdHeader]: requestId, 'x-content-type-options': 'nosniff' };
}

/** Sends an error in the one error shape, unless the response has begun or its client is gone. */
export function sendError(response: ServerResponse, error: AppError, requestId: string): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const authenticate: Record<string, string> = error.status === 401 ? { 'www-authenticate': 'Bearer' } : {};
  const headers = { ...error.headers, ...authenticate, ...doorHeaders(requestId) };
  sendJson(response, error.status, errorBody(error, requestId), headers);
}
