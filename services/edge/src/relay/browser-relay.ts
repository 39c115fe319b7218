import type { IncomingMessage, IncomingHttpHeaders } from 'node:http';
import type { RouteMatcher } from '@gatehouse/contract/match';
import { isAtOrUnder, isClosedToRelay } from '@gatehouse/contract/operator-surface';
import { pagesFolder } from '@gatehouse/contract/pages';
import { matchedRoute, queryOf, unknownPath, valuesIn, type RequestTarget } from '../shared/target.ts';
import { checkRelayPath, relayForbidden } from './relay-path.ts';

/** The console and the pages are no part of the API. */
const closedAreas = ['/api-docs', pagesFolder];

/** `/api-docs/proxy/<path>`: serves the route of `<path>`, with few of the client's headers. */
export class BrowserRelay {
  readonly #matcher: RouteMatcher;

  constructor(matcher: RouteMatcher) {
    this.#matcher = matcher;
  }

  /**
   * The target behind the relay's own path. `rest`: what follows `/api-docs/proxy/`. Throws a 404 or 405,
   * `relay_forbidden` and `relay_path_ambiguous`.
   */
  targetOf(request: IncomingMessage, rest: string): RequestTarget {
    const { method = '', url = '', headers } = request;
    const path = `/${rest}`;
    checkRelayPath(method, path);
    if (path === '/' || closedAreas.some((area) => isAtOrUnder(path, area)))
      throw unknownPath({ method, url: path });
    const { route, params } = matchedRoute(this.#matcher.match(method, path), { method, url: path });
    // Checked again by the matched route, whatever the path looked like.
    if (isClosedToRelay(route.method, route.path)) throw relayForbidden();
    const relayed = relayedHeaders(headers);
    const valuesOf = (header: string): string[] | undefined =>
      relayed[header] === undefined ? undefined : valuesIn(request.rawHeaders, header);
    return { route, params, url: path + queryOf(url), headers: relayed, valuesOf };
  }
}

/** Enough to call the API with a key. No cookies, and no header naming another caller. */
const relayed = ['accept', 'content-length', 'content-type', 'idempotency-key'] as const;

/** The headers of a relayed request: as if the client had sent no others. */
function relayedHeaders(incoming: IncomingHttpHeaders): IncomingHttpHeaders {
  const names: string[] = [...relayed];
  if (/^bearer /i.test(incoming.authorization ?? '')) names.push('authorization');
  return Object.fromEntries(names.map((name) => [name, incoming[name]]));
}
