import { isClosedToRelay } from '@gatehouse/contract/operator-surface';
import type { Route } from '@gatehouse/contract/routes';
import type { IncomingMessage } from 'node:http';
import type { RouteMatcher } from '@gatehouse/contract/match';
import { pathOf } from '../shared/target.ts';

/** Headers read by the API and those sent by clients' SDKs from browsers, apart from `x-stainless-*`. */
const requestHeaders = [
  'anthropic-beta',
  'anthropic-dangerous-direct-browser-access',
  'anthropic-version',
  'authorization',
  'content-type',
  'accept',
  'idempotency-key',
  'openai-beta',
  'openai-organization',
  'openai-project',
  'traceparent',
  'tracestate',
  'user-agent',
  'api-key',
  'x-api-key',
  'x-goog-api-client',
  'x-goog-api-key',
  'x-request-id',
  'x-service-user-id',
  'x-session-budget-usd',
  'x-session-id',
  'x-stream-events',
];
const sdkHeader = /^x-stainless-[a-z-]{1,50}$/;

const responseHeaders = [
  'anthropic-ratelimit-unified-reset',
  'anthropic-ratelimit-unified-status',
  'content-disposition',
  'idempotency-replayed',
  'link',
  'location',
  'request-id',
  'retry-after',
  'retry-after-ms',
  'x-gateway-estimated',
  'x-gateway-guardrail',
  'x-gateway-ignored',
  'x-gateway-max-tokens',
  'x-gateway-model',
  'x-gateway-policy',
  'x-gateway-provider',
  'x-gateway-rows',
  'x-ratelimit-limit-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-requests',
  'x-ratelimit-reset-tokens',
  'x-request-id',
  'x-run-id',
  'x-should-retry',
  'x-trace-id',
].join(', ');

/** Whether CORS applies to a route: it takes a tenant's key and is not on the operator surface. */
export function isOpenToBrowsers(route: Pick<Route, 'access' | 'method' | 'path'>): boolean {
  const { kind } = route.access;
  return (kind === 'key' || kind === 'scope') && !isClosedToRelay(route.method, route.path);
}

/**
 * Response headers by which pages of the configured origins may call the API (Fetch standard §3.2). Credentials are
 * never allowed: a page must hold the key itself.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  /** `origins` as browsers send them: `https://app.example.com`. */
  constructor(origins: Iterable<string>) {
    this.#origins = new Set(origins);
  }

  names(origin: string | undefined): origin is string {
    return origin !== undefined && this.#origins.has(origin);
  }

  /** For every response of a route open to browsers, errors too. */
  responseHeaders(origin: string | undefined): Record<string, string> {
    if (!this.names(origin)) return { vary: 'Origin' };
    return {
      vary: 'Origin',
      'access-control-allow-origin': origin,
      'access-control-expose-headers': responseHeaders,
    };
  }

  /** For the answer to a preflight of a named origin. `requested`: its `Access-Control-Request-Headers`. */
  preflightHeaders(
    origin: string,
    methods: readonly string[],
    requested: string | undefined,
  ): Record<string, string> {
    const names = (requested ?? '').split(',').map((name) => name.trim().toLowerCase());
    return {
      vary: 'Origin',
      'access-control-allow-origin': origin,
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': [
        ...requestHeaders,
        ...names.filter((name) => sdkHeader.test(name)),
      ].join(', '),
      // Seconds; Chrome keeps nothing for longer.
      'access-control-max-age': '7200',
    };
  }
}

export interface Preflight {
  /** Route the browser asks about. */
  route: Route;
  headers: Record<string, string>;
}

/**
 * A request as a CORS preflight; null unless browsers of its origin may use the method on this path. Any other OPTIONS
 * request is routed like other methods.
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
