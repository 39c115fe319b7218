import type { IncomingMessage } from 'node:http';
import { clientDialects, sessionHeaders } from '@gatehouse/contract/dialects';
import { AppError } from '@gatehouse/kit/errors';
import type { Dialect } from '@gatehouse/dialects/dialect';
import { sessionNamed } from '@gatehouse/dialects/request-fields';

/** A client's headers for providers of its dialect's API. */
export function passedHeaders({ headers }: IncomingMessage, { name }: Dialect): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const header of clientDialects[name].passedHeaders) {
    const value = headers[header];
    if (typeof value === 'string') passed[header] = value;
  }
  return passed;
}

/** Model ids come from the operator's file and may hold characters not allowed in a header. */
export function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}

const [ownHeader, ...clientHeaders] = sessionHeaders;

/**
 * The optional `X-Session-Id`, which groups runs into a conversation, or a client's header in its place; values of those
 * that are no name are passed over.
 */
export function sessionOf({ headers }: IncomingMessage): string | null {
  const value = headers[ownHeader];
  if (value === undefined)
    return clientHeaders.map((name) => sessionNamed(headers[name])).find((name) => name !== null) ?? null;
  const named = sessionNamed(value);
  if (named !== null) return named;
  throw new AppError('invalid_value', 'X-Session-Id must be 1 to 255 printable ASCII characters.', {
    param: 'X-Session-Id',
  });
}
