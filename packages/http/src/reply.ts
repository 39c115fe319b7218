import type { ServerResponse } from 'node:http';
import { errorBody, type AppError } from '@gatehouse/kit/errors';

/** Sends a JSON document with its exact length. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json',
    'content-length': text.length,
  });
  response.end(text);
}

/** Sends an error in the one error shape, unless the response has begun or its client is gone. */
export function sendError(response: ServerResponse, error: AppError, requestId: string): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const authenticate: Record<string, string> = error.status === 401 ? { 'www-authenticate': 'Bearer' } : {};
  sendJson(response, error.status, errorBody(error, requestId), { ...error.headers, ...authenticate });
}
