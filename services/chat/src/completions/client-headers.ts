import type { IncomingMessage } from 'node:http';
import { AppError } from '@gatehouse/kit/errors';
import type { Dialect } from '@gatehouse/dialects/dialect';
import { sessionNamed } from '@gatehouse/dialects/request-fields';

/** A client's headers for providers of its dialect's API. */
export function passedHeaders({ headers }: IncomingMessage, dialect: Dialect): Record<string, string> {
  const passed = dialect.passedHeaders.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(
    passed.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** Model ids come from the operator's file and may hold characters not allowed in a header. */
export function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}

/** Names of clients for the session; values that are no name are passed over. */
const ownSessionHeaders = ['x-claude-code-session-id', 'session-id', 'session_id', 'x-session-affinity'];

/** The optional `X-Session-Id`, which groups runs into a conversation, or a header in its place. */
export function sessionOf({ headers }: IncomingMessage): string | null {
  const value = headers['x-session-id'];
  if (value === undefined)
    return ownSessionHeaders.map((name) => sessionNamed(headers[name])).find((name) => name !== null) ?? null;
  const named = sessionNamed(value);
  if (named !== null) return named;
  throw new AppError('invalid_value', 'X-Session-Id must be 1 to 255 printable ASCII characters.', {
    param: 'X-Session-Id',
  });
}
