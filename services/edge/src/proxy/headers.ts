import type { IncomingHttpHeaders, OutgoingHttpHeader } from 'node:http';
import { clientDialects, sessionHeaders } from '@gatehouse/contract/dialects';

/**
 * The client's headers passed to services, each once: dialects share some. An allow-list: it keeps out internal headers
 * (`x-gatehouse-*`), those only the edge reads (`authorization`, cookies, the acting user) and those of one connection
 * (RFC 9110 §7.6.1).
 */
const passedOnNames: ReadonlySet<string> = new Set([
  'accept',
  'content-length',
  'content-type',
  'idempotency-key',
  'tracestate',
  'user-agent',
  'x-session-budget-usd',
  'x-stream-events',
  ...sessionHeaders,
  ...Object.values(clientDialects).flatMap(({ passedHeaders }): readonly string[] => passedHeaders),
]);

/** Whether services get a header from clients at every route. */
export function isPassedOn(name: string): boolean {
  return passedOnNames.has(name);
}

/** Names and values in turn. V8 keeps no shapes for objects with so many different names, so lookups would be slow. */
export type HeaderList = string[];

/** The client's headers that pass to a service. */
export function requestHeaders(incoming: IncomingHttpHeaders): HeaderList {
  const headers: HeaderList = [];
  for (const name of passedOnNames) {
    const value = incoming[name];
    if (typeof value === 'string') headers.push(name, value);
  }
  return headers;
}

/** By name; the values of a repeated header as a list. Without a prototype: a header may be named `constructor`. */
export function headerObject(list: HeaderList): Record<string, string | string[]> {
  const headers = Object.create(null) as Record<string, string | string[]>;
  for (let index = 0; index < list.length; index += 2) {
    const name = list[index] ?? '';
    const value = list[index + 1] ?? '';
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}

/** By name, all values of each header. */
export function distinctHeaders(list: HeaderList): Record<string, string[]> {
  const headers = Object.create(null) as Record<string, string[]>;
  for (let index = 0; index < list.length; index += 2)
    (headers[list[index] ?? ''] ??= []).push(list[index + 1] ?? '');
  return headers;
}

/** Headers of one connection (RFC 9110 §7.6.1). */
const connectionOnly = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Headers of a service's response, by their lower-case names. */
export type ServiceHeaders = Readonly<Record<string, OutgoingHttpHeader | undefined>>;

/**
 * Names and values in turn of a service's response headers, without internal ones, without those of the connection it
 * came on, and without `replaced`, which the edge sets itself.
 */
export function responseHeaders(
  upstream: ServiceHeaders,
  replaced: Readonly<Record<string, string>>,
): OutgoingHttpHeader[] {
  const headers: OutgoingHttpHeader[] = [];
  const listed = listedAsConnectionOnly(upstream['connection']);
  for (const name of Object.keys(upstream)) {
    const value = upstream[name];
    if (value === undefined || connectionOnly.has(name) || name.startsWith('x-gatehouse-')) continue;
    if (listed?.includes(name) !== true && !Object.hasOwn(replaced, name)) headers.push(name, value);
  }
  for (const name of Object.keys(replaced)) headers.push(name, replaced[name] ?? '');
  return headers;
}

/** Headers named by a `Connection` header besides the usual; null without any. */
function listedAsConnectionOnly(connection: OutgoingHttpHeader | undefined): string[] | null {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return null;
  return String(connection)
    .split(',')
    .map((name) => name.trim().toLowerCase());
}
