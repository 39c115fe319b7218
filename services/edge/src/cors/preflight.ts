import type { IncomingMessage } from 'node:http';
import type { RouteMatcher } from '@gatehouse/contract/match';
import type { Route } from '@gatehouse/contract/routes';
import { pathOf } from '../shared/target.ts';
import { isOpenToBrowsers, type Cors } from './cors.ts';

export interface Preflight {
  /** The route that the browser asks about. */
  route: Route;
  headers: Record<string, string>;
}

/**
 * The CORS preflight that a request is; null unless browsers of its origin may use the method on this path. Any other
 * OPTIONS request is routed like other methods.
 */
export function findPreflight(request: IncomingMessage, cors: Cors, matcher: RouteMatcher): Preflight | null {
  if (request.method !== 'OPTIONS') return null;
  const { origin, 'access-control-request-method': requestedMethod } = request.headers;
  if (!cors.names(origin) || requestedMethod === undefined) return null;
  const path = pathOf(request.url ?? '');
  const known = matcher.match('OPTIONS', path);
  if (known.kind !== 'method') return null;
  const open = known.allow.flatMap((method) => {
    const match = matcher.match(method, path);
    return match.kind === 'route' && isOpenToBrowsers(match.route) ? [{ method, route: match.route }] : [];
  });
  const route = open.find(({ method }) => method === requestedMethod)?.route;
  if (route === undefined) return null;
  const methods = open.map(({ method }) => method);
  const requested = request.headers['access-control-request-headers'];
  return { route, headers: cors.preflightHeaders(origin, methods, requested) };
}
