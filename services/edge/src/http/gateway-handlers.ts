import type { IncomingMessage, ServerResponse, RequestListener } from 'node:http';
import { relayId } from '@gatehouse/contract/console';
import { keyHeadersAt, type DialectName } from '@gatehouse/contract/dialects';
import { RouteMatcher, type Match } from '@gatehouse/contract/match';
import type { Route } from '@gatehouse/contract/routes';
import { isSignatureHeader } from '@gatehouse/contract/signature-headers';
import { clientIpHeader } from '@gatehouse/http/client-ip';
import { checkAccess } from '@gatehouse/http/principal-check';
import { doorHeaders, sendError, closeWhenEarly, endAnswer } from '@gatehouse/http/reply';
import type { UserDirectory } from '@gatehouse/shell/user-directory';
import type { LocalAssertion } from '@gatehouse/identity/local-assertion';
import type { Principal } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import { AppError, toAppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import {
  withActingUser,
  withDirectoryUsers,
  withUserFilter,
  actingUserHeader,
  checkActingUserHeader,
  countedUser,
} from '../auth/acting-user.ts';
import { missingKey, type Authenticator } from '../auth/authenticator.ts';
import { clientIp, type IsTrustedProxy } from '../auth/client-ip.ts';
import { invalidSession, type SessionReader } from '../auth/session-reader.ts';
import type { UntrustedProxies } from '../auth/untrusted-proxies.ts';
import { isOpenToBrowsers, type Cors, findPreflight, type Preflight } from '../cors/cors.ts';
import { type DocumentHandler, documentHandlers } from '../documents/document-handlers.ts';
import type { Forwarder } from '../proxy/forwarder-handlers.ts';
import { isPassedOn, requestHeaders, type HeaderList } from '../proxy/headers.ts';
import { maxCustomHeaderChars, maxCustomHeaders } from '../bounds.ts';
import { carriedKey } from '../dialects/carried-key.ts';
import {
  clientDialect,
  dialectOfUnknown,
  hidesMethods,
  type ClientRequest,
} from '../dialects/client-dialect.ts';
import { BrowserRelay } from '../relay/browser-relay.ts';
import {
  matchedRoute,
  pathOf,
  queryOf,
  targetOf,
  unknownPath,
  type RequestTarget,
  bodyLimitOf,
} from '../shared/target.ts';
import type { AccessEntry, AccessLog } from './access-log-handlers.ts';
import { checkBodyHeaders, checkBodySize } from '@gatehouse/http/body';
import { idempotencyKeyOf } from '@gatehouse/http/idempotency-key';
import express from 'express';

export interface GatewayOptions {
  authenticator: Authenticator;
  users: UserDirectory;
  sessions: SessionReader;
  signer: Signer;
  forwarder: Forwarder;
  isTrustedProxy: IsTrustedProxy;
  untrustedProxies: UntrustedProxies;
  /** If null, no response has CORS headers. */
  cors: Cors | null;
  accessLog: AccessLog;
  log: Logger;
}

/**
 * Handles each public request: it is matched against the route table (404, 405), its key or session is authenticated
 * (401) and authorised (403) unless the route verifies signatures or tickets, its headers are checked (413, 415, 400),
 * and it is forwarded to the service of its route.
 */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #matcher = new RouteMatcher();
  readonly #relay = new BrowserRelay(this.#matcher);
  readonly #documents: ReadonlyMap<string, DocumentHandler>;
  #draining = false;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#documents = documentHandlers(() => !this.#draining && options.authenticator.ready);
  }

  /** From now on `/health` says unavailable; requests are served as before. */
  drain(): void {
    this.#draining = true;
  }

  /** The route of a request, by method and path. */
  match({ method = '', url = '' }: IncomingMessage): Match {
    return this.#matcher.match(method, pathOf(url));
  }

  /** Returns a promise only if it has to wait: for an unknown key, or a service of another process. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    match = this.match(request),
  ): Promise<void> | undefined {
    const entry = this.#options.accessLog.open(request, response);
    this.#options.untrustedProxies.check(request);
    const clientRequest = clientRequestOf(request);
    entry.dialect = clientDialect(clientRequest);
    const fail = (error: unknown): void => {
      const known = inDialect(toAppError(error), entry, clientRequest);
      if (known.code === 'internal')
        this.#options.log.error({ err: error, request_id: entry.requestId }, 'request failed');
      entry.code = known.publicCode;
      entry.failure = known;
      sendError(response, known, entry.requestId, entry.dialect);
    };
    try {
      return this.#serve(request, response, { entry, match })?.catch(fail);
    } catch (error) {
      fail(error);
      return undefined;
    }
  }

  #serve(
    request: IncomingMessage,
    response: ServerResponse,
    { entry, match }: { entry: AccessEntry; match: Match },
  ): Promise<void> | undefined {
    const { cors, users } = this.#options;
    refuseUpgrade(request);
    const preflight = cors === null ? null : findPreflight(request, cors, this.#matcher);
    if (preflight !== null) {
      entry.route = preflight.route;
      answerPreflight(response, preflight, entry);
      return undefined;
    }
    const target = this.#route(request, entry, match);
    const { route, headers } = target;
    if (cors !== null && !entry.relayed && isOpenToBrowsers(route))
      response.setHeaders(new Headers(cors.responseHeaders(request.headers.origin)));
    const document = this.#documents.get(route.id);
    if (document !== undefined) {
      response.setHeaders(new Headers(doorHeaders(entry.requestId)));
      request.headers = headers;
      document(request, response);
      return undefined;
    }
    if (needsNoKey(target)) return this.#forward(request, response, { entry, target });
    const { authorization, url } = carriedKey(entry.dialect, target);
    target.url = url;
    const admit = (principal: Principal): Promise<void> | undefined => {
      entry.principal = principal;
      checkAccess(principal, route.access);
      const forward = (acting: Principal): Promise<void> | undefined => {
        entry.principal = acting;
        entry.userId = countedUser(acting.userId);
        return this.#forward(request, response, { entry, target });
      };
      const { tenantId } = principal;
      if (principal.hasUsers !== true || tenantId === null)
        return forward(withActingUser(principal, route, target.valuesOf));
      return inDirectory(users, { ...principal, tenantId }, { target, entry }).then(forward);
    };
    const known = this.#authenticate(request, target, { authorization, entry });
    return known instanceof Promise ? known.then(admit) : admit(known);
  }

  #forward(
    request: IncomingMessage,
    response: ServerResponse,
    { entry, target }: { entry: AccessEntry; target: RequestTarget },
  ): Promise<void> | undefined {
    const { principal } = entry;
    const { route, params, url } = target;
    checkRequest(request, target);
    const address = clientIp(request, this.#options.isTrustedProxy);
    return this.#options.forwarder.forward({
      request,
      response,
      route,
      params,
      url,
      headers: headersFor(target, principal, address),
      assertion: this.#assertionOf(principal, route),
      tenantId: principal?.tenantId ?? null,
      anonymousAddress: principal === null ? (address ?? '') : undefined,
      requestId: entry.requestId,
      trace: entry.trace,
      dialect: entry.dialect,
      outcome: entry,
    });
  }

  /** Principal of a request's key or session. */
  #authenticate(
    request: IncomingMessage,
    target: RequestTarget,
    { authorization, entry }: { authorization: string | undefined; entry: AccessEntry },
  ): Principal | Promise<Principal> {
    const { authenticator, sessions } = this.#options;
    const session = sessions.read(target, authorization !== undefined);
    if (session !== null) return authenticator.authenticateSession(session, request, entry);
    if (target.route.access.kind === 'session') throw invalidSession();
    if (authorization === undefined) throw missingKey(keyHeadersAt(target.url, entry.dialect));
    return authenticator.authenticate(authorization, request, entry);
  }

  /** Finds what a request asks for, itself or through the relay. */
  #route(request: IncomingMessage, entry: AccessEntry, match: Match): RequestTarget {
    const { method = '', url = '' } = request;
    const matched = matchedRoute(match, request, this.#matcher);
    entry.route = matched.route;
    if (matched.route.id !== relayId) return targetOf(request, matched);
    entry.relayed = true;
    const rest = matched.params['target'] ?? '';
    // The relay passes on no header with a sign of a dialect.
    entry.dialect = clientDialect({ method, url: `/${rest}${queryOf(url)}`, headers: {} });
    const target = this.#relay.targetOf(request, rest);
    entry.route = target.route;
    return target;
  }

  #assertionOf(principal: Principal | null, route: Route): LocalAssertion {
    const { signer } = this.#options;
    return principal === null ? signer.localAnonymous(route.id) : signer.localAssertion(principal);
  }
}

/** Principal of a request in a tenant with a directory. Also puts the id of a user into the filter `user_id`. */
async function inDirectory(
  users: UserDirectory,
  principal: Principal & { tenantId: string },
  { target, entry }: { target: RequestTarget; entry: AccessEntry },
): Promise<Principal> {
  const acting = await withDirectoryUsers(users, principal, target, entry);
  const { query } = target.route;
  if (query !== undefined && 'user_id' in query.shape)
    target.url = await withUserFilter(target.url, (name) => users.idOf(principal.tenantId, name, entry));
  return acting;
}

function clientRequestOf({ method = '', url = '', headers }: IncomingMessage): ClientRequest {
  return { method, url, headers };
}

/** Clients opening a WebSocket first go on by POST after this answer, and end or repeat for seconds after others. */
function refuseUpgrade({ headers }: IncomingMessage): void {
  if (headers.upgrade === undefined || !/(^|,)\s*websocket\s*($|,)/i.test(headers.upgrade)) return;
  throw new AppError('upgrade_required', 'WebSockets are not supported. Send the request by POST.', {
    headers: { connection: 'close' },
  });
}

/** Some APIs have no 405 for a method of a resource, and their clients ask for resources without a route. */
function inDialect(error: AppError, entry: AccessEntry, request: ClientRequest): AppError {
  if (error.code === 'route_not_found' && !entry.relayed) entry.dialect = dialectOfUnknown(request);
  const isWrongMethod = error.code === 'method_not_allowed';
  return isWrongMethod && hidesMethods(entry.dialect, request) ? unknownPath(request) : error;
}

/** The headers for the service: the client's as far as they pass, and the client's address. */
function headersFor(target: RequestTarget, principal: Principal | null, address: string | null): HeaderList {
  const headers = requestHeaders(target.headers);
  if (address !== null) headers.push(clientIpHeader, address);
  if (principal === null) headers.push(...provingHeaders(target));
  return headers;
}

/** Whether a request is verified by its handler: by a signature, or by a ticket where it has no key. */
function needsNoKey({ route: { access }, headers, url }: RequestTarget): boolean {
  if (access.kind !== 'ticket') return access.kind === 'signed';
  return access.scope === undefined || (headers.authorization === undefined && /[?&]ticket=/.test(url));
}

/** The client's headers by which the handler verifies a request, each as often as it was sent. */
function provingHeaders({ route: { access }, headers, valuesOf }: RequestTarget): HeaderList {
  if (access.kind !== 'signed' && access.kind !== 'ticket') return [];
  const named = access.headers.flatMap((name) => (valuesOf(name) ?? []).flatMap((value) => [name, value]));
  const isCustom = access.kind === 'signed' && access.customHeaders === true;
  return isCustom ? [...named, ...customHeaders(access.headers, headers, valuesOf)] : named;
}

/** The client's headers that a tenant may have named for signatures, besides those that are passed on anyway. */
function customHeaders(
  listed: readonly string[],
  headers: RequestTarget['headers'],
  valuesOf: RequestTarget['valuesOf'],
): HeaderList {
  return Object.keys(headers)
    .filter((name) => isSignatureHeader(name) && !isPassedOn(name) && !listed.includes(name))
    .slice(0, maxCustomHeaders)
    .flatMap((name) => {
      const values = valuesOf(name) ?? [];
      const isLong = values.some((value) => value.length > maxCustomHeaderChars);
      return isLong ? [] : values.flatMap((value) => [name, value]);
    });
}

function answerPreflight(
  response: ServerResponse,
  preflight: Preflight,
  { requestId, dialect }: { requestId: string; dialect: DialectName },
): void {
  closeWhenEarly(response);
  response.writeHead(204, { ...doorHeaders(requestId, dialect), ...preflight.headers });
  endAnswer(response);
}

/** Checks a request's headers before its body is read. Throws 413, 415 and 400, in this order. */
function checkRequest(request: IncomingMessage, { route, valuesOf }: RequestTarget): void {
  // Only the size of a signed request is checked before its signature is verified.
  if (route.access.kind === 'signed') checkBodySize(request, route);
  else if (route.bodyLimit > 0) checkBodyHeaders(request, route);
  else checkBodySize(request, { bodyLimit: bodyLimitOf(route) });
  if (route.actingUser) checkActingUserHeader(valuesOf(actingUserHeader));
  // The service gets repeated headers joined to one, which would look like a valid key.
  if (route.idempotencyKey) idempotencyKeyOf(request);
}

/**
 * The edge as an HTTP handler. Completion paths bypass express, which would cost them a third of their throughput. Both
 * ways call the same gateway.
 */
export function createEdgeApp(gateway: Gateway): RequestListener {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.use((request, response) => gateway.handle(request, response));
  return (request, response) => {
    const { url = '' } = request;
    const match = gateway.match(request);
    const isDirect = match.kind === 'route' && match.route.passThrough;
    // Express answers some targets other than paths (`http://[`) itself, without our error shape.
    if (isDirect || !url.startsWith('/')) void gateway.handle(request, response, match);
    else app(request, response);
  };
}
