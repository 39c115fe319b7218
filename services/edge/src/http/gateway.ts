import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { RouteMatcher, type Match } from '@gatehouse/contract/match';
import { isAtOrUnder, isClosedToRelay } from '@gatehouse/contract/operator-surface';
import { relayId } from '@gatehouse/contract/console';
import { routes, type Route } from '@gatehouse/contract/routes';
import { noRoute } from '@gatehouse/http/app';
import { checkBodyHeaders } from '@gatehouse/http/body';
import { clientIpHeader } from '@gatehouse/http/client-ip';
import { idempotencyKeyOf } from '@gatehouse/http/idempotency-key';
import { checkAccess } from '@gatehouse/http/principal-check';
import { closeWhenEarly, doorHeaders, endAnswer, sendError, sendJson } from '@gatehouse/http/reply';
import { requestContext, requestIdHeader, type RequestContext } from '@gatehouse/http/request-context';
import { requestSpan } from '@gatehouse/http/request-span';
import type { Principal } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import { assertionHeader } from '@gatehouse/identity/verifier';
import { monotonicMs } from '@gatehouse/kit/clock';
import { toAppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { Histogram } from '@gatehouse/kit/metrics';
import { toTraceparent } from '@gatehouse/kit/trace-context';
import type { Tracer } from '@gatehouse/kit/tracing';
import type { Authenticator } from '../auth/authenticator.ts';
import { actingUser, actingUserHeader, checkActingUserHeader } from '../auth/acting-user.ts';
import { relayedHeaders, requestHeaders, type HeaderList } from '../proxy/headers.ts';
import { isOpenToBrowsers, type Cors } from '../cors/cors.ts';
import { checkRelayPath, relayForbidden } from '../relay/relay-path.ts';
import { clientIp, type IsTrustedProxy } from '../auth/client-ip.ts';
import type { Forwarder } from '../proxy/forwarder.ts';
import { consoleHandlers } from '../documents/console.ts';
import type { DocumentHandler } from '../documents/document.ts';
import { healthAnswer } from '../documents/health.ts';
import { openApiHandler } from '../documents/openapi.ts';

export interface GatewayOptions {
  authenticator: Authenticator;
  signer: Signer;
  forwarder: Forwarder;
  isTrustedProxy: IsTrustedProxy;
  /** If null, no response has CORS headers. */
  cors: Cors | null;
  log: Logger;
  duration: Histogram<'route' | 'status'>;
  tracer?: Tracer | undefined;
}

/**
 * The public door. Checks in the contract's order (404/405, 401, 403, 413/415, 400) what can be checked without the
 * body, and sends what passes on its way with the identity it found.
 */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #matcher = new RouteMatcher();
  /** What the edge answers itself, by route id. */
  readonly #own: ReadonlyMap<string, DocumentHandler>;
  #draining = false;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#own = new Map<string, DocumentHandler>([
      ['health', (_request, response) => this.#answerHealth(response)],
      ['openapi', openApiHandler()],
      ...consoleHandlers(),
    ]);
    const missing = routes.find(
      ({ id, service }) => service === 'edge' && id !== relayId && !this.#own.has(id),
    );
    if (missing !== undefined) throw new Error(`the edge has no handler for ${missing.id}`);
  }

  /** From now on `/health` says unavailable; requests are served as before. */
  drain(): void {
    this.#draining = true;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const context = requestContext(request);
    const arrivedAt = monotonicMs();
    const entry: AccessEntry = { route: null, relayed: false, principal: null };
    response.on('close', () => this.#logAccess(request, response, { ...context, ...entry, arrivedAt }));
    try {
      const preflight = request.method === 'OPTIONS' ? this.#findPreflight(request) : null;
      if (preflight !== null) {
        entry.route = preflight.route;
        this.#answerPreflight(response, preflight.headers, context.requestId);
        return;
      }
      await this.#serve(request, response, context, entry);
    } catch (error) {
      const known = toAppError(error);
      if (known.code === 'internal')
        this.#options.log.error({ err: error, request_id: context.requestId }, 'request failed');
      sendError(response, known, context.requestId);
    }
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    entry: AccessEntry,
  ): Promise<void> {
    const { route, url, headers: given, actingUsers } = this.#find(request, entry);
    const { cors } = this.#options;
    if (cors !== null && !entry.relayed && isOpenToBrowsers(route))
      response.setHeaders(new Headers(cors.responseHeaders(request.headers.origin)));
    const own = this.#own.get(route.id);
    if (own !== undefined) {
      response.setHeaders(new Headers(doorHeaders(context.requestId)));
      request.headers = given;
      own(request, response);
      return;
    }
    const { authenticator } = this.#options;
    entry.principal = await authenticator.authenticate(given.authorization, request.socket, context);
    const principal = authorise(entry.principal, route, actingUsers);
    entry.principal = principal;
    if (route.bodyLimit > 0) checkBodyHeaders(request, route.bodyLimit);
    if (route.actingUser) checkActingUserHeader(actingUsers());
    // What goes on has repeated headers joined to one, which would look like a key.
    if (route.idempotencyKey) idempotencyKeyOf(request);
    const address = clientIp(request, this.#options.isTrustedProxy);
    const headers = async (): Promise<HeaderList> =>
      requestHeaders(given, [
        ...(address === null ? [] : [clientIpHeader, address]),
        ...[assertionHeader, await this.#options.signer.assertion(principal)],
        ...[requestIdHeader, context.requestId],
        ...['traceparent', toTraceparent(context.trace)],
      ]);
    const { tenantId } = principal;
    const { requestId } = context;
    return this.#options.forwarder.forward({ request, response, route, url, headers, tenantId, requestId });
  }

  /**
   * The route that a CORS preflight asks for, and its CORS headers; null unless browsers of its origin may use the
   * method on this path. Anything else is served as any OPTIONS request.
   */
  #findPreflight({ url = '', headers }: IncomingMessage): Preflight | null {
    const { cors } = this.#options;
    const { origin, 'access-control-request-method': asked } = headers;
    if (cors?.names(origin) !== true || asked === undefined) return null;
    const [path = ''] = url.split('?', 1);
    const known = this.#matcher.match('OPTIONS', path);
    if (known.kind !== 'method') return null;
    const open = known.allow.flatMap((method) => {
      const match = this.#matcher.match(method, path);
      return match.kind === 'route' && isOpenToBrowsers(match.route) ? [{ method, route: match.route }] : [];
    });
    const route = open.find(({ method }) => method === asked)?.route;
    if (route === undefined) return null;
    const methods = open.map(({ method }) => method);
    const answer = cors.preflightHeaders(origin, methods, headers['access-control-request-headers']);
    return { route, headers: answer };
  }

  #answerPreflight(response: ServerResponse, headers: Preflight['headers'], requestId: string): void {
    closeWhenEarly(response);
    response.writeHead(204, { ...doorHeaders(requestId), ...headers });
    endAnswer(response);
  }

  #answerHealth(response: ServerResponse): void {
    const { status, body } = healthAnswer(!this.#draining && this.#options.authenticator.ready);
    sendJson(response, status, body);
  }

  /** Finds what a request is for, itself or through the relay. Throws the 404s and 405s, and what the relay refuses. */
  #find(request: IncomingMessage, entry: AccessEntry): Inquiry {
    const { method = '', url = '', headers } = request;
    const [path = ''] = url.split('?', 1);
    const match = this.#match(method, path);
    entry.route = match.route;
    if (match.route.id !== relayId) {
      return {
        route: match.route,
        url,
        headers,
        // What is distinct is worked out for all headers at once: only where this one is.
        actingUsers: () =>
          headers[actingUserHeader] === undefined ? undefined : request.headersDistinct[actingUserHeader],
      };
    }
    entry.relayed = true;
    const target = `/${match.params['target'] ?? ''}`;
    checkRelayPath(method, target);
    if (isAtOrUnder(target, '/api-docs')) throw noRoute({ kind: 'none' }, method);
    const { route } = this.#match(method, target);
    // Whatever the path looked like: this is where it leads.
    if (isClosedToRelay(route.method, route.path)) throw relayForbidden();
    entry.route = route;
    const query = url.slice(path.length);
    return { route, url: target + query, headers: relayedHeaders(headers), actingUsers: () => undefined };
  }

  #match(method: string, path: string): Match & { kind: 'route' } {
    const match = this.#matcher.match(method, path);
    if (match.kind !== 'route') throw noRoute(match, method);
    return match;
  }

  #logAccess(
    request: IncomingMessage,
    response: ServerResponse,
    entry: AccessEntry & RequestContext & { arrivedAt: number },
  ): void {
    const endedAt = monotonicMs();
    const durationMs = endedAt - entry.arrivedAt;
    const routeId = entry.route?.id ?? 'none';
    // A response that its client did not wait for has no status of its own; 499 is what proxies call it.
    // One that is sent before its request's body has come is complete, though, when the client leaves for that.
    const early = response.headersSent && !request.complete;
    const status = response.writableFinished || early ? response.statusCode : 499;
    this.#options.duration.observe({ route: routeId, status }, durationMs / 1_000);
    this.#options.log.info(
      {
        request_id: entry.requestId,
        trace_id: entry.trace.traceId,
        method: request.method,
        route: routeId,
        relayed: entry.relayed || undefined,
        status,
        duration_ms: Math.round(durationMs),
        tenant_id: entry.principal?.tenantId ?? undefined,
        key_id: entry.principal?.keyId ?? undefined,
      },
      'request',
    );
    this.#options.tracer?.record(
      requestSpan({
        context: entry,
        method: request.method ?? '',
        route: entry.route,
        status,
        startedAt: entry.arrivedAt,
        endedAt,
        attributes: {
          'gatehouse.tenant_id': entry.principal?.tenantId ?? undefined,
          'gatehouse.key_id': entry.principal?.keyId,
        },
      }),
    );
  }
}

/** A request as it is served: as it came, or what the relay lets through of it. */
interface Inquiry {
  route: Route;
  /** Path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  /** All the values `X-Service-User-Id` was sent with. */
  actingUsers: () => readonly string[] | undefined;
}

interface Preflight {
  route: Route;
  headers: Record<string, string>;
}

interface AccessEntry {
  /** Null until one matches; the relay's own for what the relay refuses. */
  route: Route | null;
  relayed: boolean;
  principal: Principal | null;
}

/** The 403s: role and scope of the key, and whether it may act for the user it names. */
function authorise(principal: Principal, route: Route, actingUsers: Inquiry['actingUsers']): Principal {
  checkAccess(principal, route.access);
  if (!route.actingUser) return principal;
  const user = actingUser(actingUsers(), principal.boundUser);
  return user === principal.actingUser ? principal : { ...principal, actingUser: user };
}
