import type { IncomingMessage } from 'node:http';
import { clientDialects, sessionHeaders } from '@gatehouse/contract/dialects';
import { usd } from '@gatehouse/contract/fields';
import { AppError } from '@gatehouse/kit/errors';
import { cappedPico, picoOf } from '@gatehouse/kit/money';
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

/** The optional `X-Stream-Events: tools`. */
export function wantsToolEvents({ headers }: IncomingMessage): boolean {
  const value = headers['x-stream-events'];
  if (value === undefined || value === 'tools') return value === 'tools';
  throw new AppError('invalid_value', 'X-Stream-Events must be "tools".', { param: 'X-Stream-Events' });
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

/** The optional `X-Session-Budget-Usd`, in pico-USD. */
export function sessionBudgetOf({ headers }: IncomingMessage): bigint | null {
  const value = headers['x-session-budget-usd'];
  if (value === undefined) return null;
  const { success, data } = usd.safeParse(value);
  if (success) return cappedPico(picoOf(data));
  throw budgetError('X-Session-Budget-Usd must be a decimal amount of USD such as "2.00".');
}

/** Throws 400 for the budget of a session in a request without a session. */
export function assertInSession(budget: bigint | null, sessionId: string | null): void {
  if (budget !== null && sessionId === null)
    throw budgetError(
      'X-Session-Budget-Usd needs a session: send X-Session-Id with it, the same in each request of the session.',
    );
}

function budgetError(message: string): AppError {
  return new AppError('invalid_value', message, { param: 'X-Session-Budget-Usd' });
}
