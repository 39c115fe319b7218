import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Match, RouteMatcher } from '@gatehouse/contract/match';
import type { Route } from '@gatehouse/contract/routes';
import { noRoute } from '@gatehouse/http/app';
import type { AppError } from '@gatehouse/kit/errors';
import { leastBodyLimit } from '../bounds.ts';

/** The target of a request: as it came, or as far as the browser relay lets it through. */
export interface RequestTarget {
  route: Route;
  params: Record<string, string>;
  /** Path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  /** All values of a header, by its lower-case name. */
  valuesOf: (header: string) => readonly string[] | undefined;
}

/** The method and URL of a request. */
type RequestLine = Pick<IncomingMessage, 'method' | 'url'>;

/** Target of a request without a relay. */
export function targetOf(
  request: IncomingMessage,
  { route, params }: Pick<RequestTarget, 'route' | 'params'>,
): RequestTarget {
  const { url = '', headers } = request;
  return {
    route,
    params,
    url,
    headers,
    valuesOf: (header) => (headers[header] === undefined ? undefined : valuesIn(request.rawHeaders, header)),
  };
}

/**
 * All values of a header by its lower-case name, in the names and values of `rawHeaders`. Node joins some repeated
 * headers, drops the later values of others, like `Authorization`, and splits all headers for the distinct ones.
 */
export function valuesIn(rawHeaders: readonly string[], header: string): string[] {
  const values: string[] = [];
  for (let at = 1; at < rawHeaders.length; at += 2)
    if (isNamed(rawHeaders[at - 1], header)) values.push(rawHeaders[at] ?? '');
  return values;
}

function isNamed(name: string | undefined, header: string): boolean {
  return name?.length === header.length && name.toLowerCase() === header;
}

/** Throws a 404 or 405 if the route table has no matching route; `matcher` finds what a 404 may have meant. */
export function matchedRoute(
  match: Match,
  requested: RequestLine,
  matcher?: RouteMatcher,
): Match & { kind: 'route' } {
  if (match.kind !== 'route') throw noRoute(match, requested, matcher && meantPath(requested, matcher));
  return match;
}

/** The path with or without `/v1` before it: base URLs of some SDKs end with it, and those of others don't. */
function meantPath({ method = '', url = '' }: RequestLine, matcher: RouteMatcher): string | undefined {
  const path = pathOf(url);
  const meant = path.startsWith('/v1/v1') ? path.slice('/v1'.length) : `/v1${path}`;
  return matcher.match(method, meant).kind === 'route' ? meant : undefined;
}

/** The 404 of a path not in the route table. */
export function unknownPath(requested: RequestLine): AppError {
  return noRoute({ kind: 'none' }, requested);
}

/** The path of a URL, without its query. */
export function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

/** Query of a URL with its question mark; empty without one. */
export function queryOf(url: string): string {
  return url.slice(pathOf(url).length);
}

export function bodyLimitOf({ bodyLimit }: Route): number {
  return Math.max(bodyLimit, leastBodyLimit);
}
