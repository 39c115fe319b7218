import type { IncomingMessage, ServerResponse } from 'node:http';
import { defaultDialect, type DialectName } from '@gatehouse/contract/dialects';
import { isScimTarget, scimMediaType } from '@gatehouse/contract/scim';
import { clientSurfaces } from '@gatehouse/dialects/client-surfaces';
import type { AppError } from '@gatehouse/kit/errors';
import { hasBody } from './body.ts';
import { writeError } from './dialect-error.ts';
import { requestIdHeader } from './request-context.ts';
import { scimError } from './scim-error.ts';

/** Members of a response used for an answer. */
export type AnswerTarget = Pick<
  ServerResponse,
  'req' | 'headersSent' | 'destroyed' | 'setHeader' | 'writeHead' | 'write' | 'end' | 'destroy'
>;

/** The response of a handler. */
export interface Reply {
  /** Default: the status of the route. */
  status?: number;
  body?: unknown;
  headers?: Record<string, string> | undefined;
}

/** Body as it goes over the wire, with the headers describing it. */
export interface Written {
  text: Buffer;
  headers: Record<string, string>;
}

/** How long to wait for the rest of a request body after the response is known. */
const discardMs = 5_000;

/** Sends a JSON document with its `content-length`. */
export function sendJson(
  response: AnswerTarget,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  sendJsonText(response, status, jsonText(body), headers);
}

export function jsonText(body: unknown): Buffer {
  return Buffer.from(JSON.stringify(body));
}

/** Sends the text of a JSON document with its `content-length`. */
export function sendJsonText(
  response: AnswerTarget,
  status: number,
  text: Buffer,
  headers: Record<string, string>,
): void {
  sendWritten(response, status, { text, headers: { ...headers, 'content-type': 'application/json' } });
}

/** Sends a body with its `content-length`. */
export function sendWritten(response: AnswerTarget, status: number, { text, headers }: Written): void {
  closeWhenEarly(response);
  response.writeHead(status, { ...headers, 'content-length': text.length });
  endAnswer(response, text);
}

/** Sends a 204. */
export function sendNothing(response: ServerResponse, headers: Record<string, string>): void {
  closeWhenEarly(response);
  response.writeHead(204, headers);
  endAnswer(response);
}

/**
 * Call before writing the head of a response: closes the connection after a response sent before the end of the request
 * body.
 */
export function closeWhenEarly(response: AnswerTarget): void {
  if (isArriving(response.req)) response.setHeader('connection', 'close');
}

/**
 * Ends a response. If the request body is still arriving, first reads and discards it: a client whose connection closes
 * while it sends never reads the response, and a connection with unread bytes cannot serve another request.
 */
export function endAnswer(response: AnswerTarget, last?: Buffer): void {
  const { req: request } = response;
  if (!isArriving(request)) {
    response.end(last);
    return;
  }
  if (last !== undefined) response.write(last);
  const timer = setTimeout(() => response.end(), discardMs).unref();
  request.once('close', () => clearTimeout(timer));
  request.once('end', () => response.end());
  // Another reader may still pause the request; this listener makes it flow once the reader is removed.
  request.on('data', () => {});
  request.resume();
}

/**
 * Whether a request body is still arriving. Node sets `complete` only after the handler returns, even for requests
 * without a body.
 */
function isArriving(request: IncomingMessage): boolean {
  return !request.complete && hasBody(request) && !isUninvited(request);
}

/**
 * Headers of every response of the gateway, whichever component created it. Answers depend on the key or session, so no
 * cache stores them; streams, documents and their files have a `cache-control` of their own.
 */
export function doorHeaders(
  requestId: string,
  dialect: DialectName = defaultDialect,
): Record<string, string> {
  return {
    [requestIdHeader]: requestId,
    ...clientSurfaces[dialect].headers?.(requestId),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
}

/**
 * Sends an error response in the shape of a dialect, or of SCIM below its path. Destroys the response instead when it
 * has begun or the client has disconnected.
 */
export function sendError(
  response: AnswerTarget,
  error: AppError,
  requestId: string,
  dialect: DialectName = defaultDialect,
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const authenticate: Record<string, string> = error.status === 401 ? { 'www-authenticate': 'Bearer' } : {};
  const written = writeError(dialect, error, requestId);
  const headers = {
    ...error.headers,
    ...authenticate,
    ...written.headers,
    ...doorHeaders(requestId, dialect),
  };
  if (isScimTarget(response.req.url ?? '')) {
    const text = jsonText(scimError(error));
    sendWritten(response, error.status, { text, headers: { ...headers, 'content-type': scimMediaType } });
    return;
  }
  const { status, body } = written;
  sendJsonText(response, status, Buffer.isBuffer(body) ? body : jsonText(body), headers);
}

const uninvited = new WeakSet<IncomingMessage>();

/**
 * For a request with `Expect: 100-continue`: sends 100 Continue only when something starts to read the body, so a
 * request rejected by its headers never sends its body.
 */
export function inviteWhenRead(request: IncomingMessage, response: ServerResponse): void {
  uninvited.add(request);
  const onListener = (event: string): void => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', onListener);
    if (response.headersSent) return;
    uninvited.delete(request);
    response.writeContinue();
  };
  request.on('newListener', onListener);
}

/** Whether the client still waits for 100 Continue, so its body is not being sent. */
function isUninvited(request: IncomingMessage): boolean {
  return uninvited.has(request);
}
