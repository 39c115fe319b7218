import type { IncomingMessage } from 'node:http';

/**
 * Whether a page of the gateway itself sent a request: another site could send a person on who has never seen it.
 * Browsers say which site a request comes from, or at least its origin.
 */
export function isOwnPage({ headers }: Pick<IncomingMessage, 'headers'>, publicUrl: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return headers.origin !== undefined && headers.origin === URL.parse(publicUrl)?.origin;
}
