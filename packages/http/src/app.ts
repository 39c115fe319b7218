import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { dialectHeader, dialectNamed, type DialectName } from '@gatehouse/contract/dialects';
import { RouteMatcher, type Match } from '@gatehouse/contract/match';
import { routes, type Route, type ServiceName } from '@gatehouse/contract/routes';
import { tableOf, type Table } from '@gatehouse/contract/table';
import type { Assertion } from '@gatehouse/identity/local-assertion';
import { isTenantPrincipal, type Principal, type TenantPrincipal } from '@gatehouse/identity/principal';
import type { Verifier } from '@gatehouse/identity/verifier';
import { forCaller } from '@gatehouse/kit/caller-signal';
import { AppError, toAppError } from '@gatehouse/kit/errors';
import { monotonicMs } from '@gatehouse/kit/clock';
import { isLongAsJson } from '@gatehouse/kit/json-size';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { logFailure, type Logger } from '@gatehouse/kit/log';
import type { Histogram } from '@gatehouse/kit/metrics';
import type { Tracer } from '@gatehouse/kit/tracing';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { validate } from '@gatehouse/kit/validate';
import { checkBodyHeaders, clientLeft, hasBody, parseBody, readBody, readPart } from './body.ts';
import type { BodyBudget } from '@gatehouse/kit/body-budget';
import { openShare } from './body-share.ts';
import { clientIpOf } from './client-ip.ts';
import {
  fingerprintOf,
  idempotencyKeyOf,
  targetOf,
  type Claim,
  type RepeatGuard,
} from './idempotency-key.ts';
import { csvPage, prefersCsv, type ListPage } from './csv-page.ts';
import { handedOver, checkExchange, checkPrincipal, keyOfTenantNeeded } from './principal-check.ts';
import { jsonText, sendError, sendNothing, sendWritten, type Reply, type Written } from './reply.ts';
import { queryOf, readQuery } from './read-query.ts';
import { errorCodeHeader } from './error-code.ts';
import { routerOf } from './router.ts';
import { requestSpan } from './request-span.ts';
import { innerContext, requestContext, requestIdHeader, type RequestContext } from './request-context.ts';

/** A validated request. `Body` and `Query` are the parsed shapes of the route. */
export interface Call<Body = unknown, Query = unknown> extends RequestContext {
  principal: Principal;
  /** The assertion of the principal by the edge, to pass on to other services. */
  assertion: Assertion;
  /** Dialect of the client. */
  dialect: DialectName;
  route: Route;
  params: Record<string, string>;
  body: Body;
  query: Query;
  /** Whether to make the checks and to change nothing, for administrative changes. `Changes` rolls its transaction back. */
  dryRun: boolean;
  log: Logger;
  clientIp: string | null;
  /** The right to execute the request if it has an `Idempotency-Key`, otherwise null. */
  claim: Claim | null;
}

// Each handler declares the shapes of its route in its own signature.
// oxlint-disable-next-line typescript/no-explicit-any
export type Handler = (call: Call<any, any>) => Promise<Reply>;

/**
 * Handler writing the response itself, including the request id, so bodies are neither buffered nor parsed twice. Not for
 * administrative changes, whose dry runs it would ignore.
 */
export type RawHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  // oxlint-disable-next-line typescript/no-explicit-any -- as for `Handler`
  call: RawCall<any>,
) => Promise<void>;
export type RawCall<Query = unknown> = RequestContext &
  Pick<Call<unknown, Query>, 'dialect' | 'route' | 'params' | 'principal' | 'assertion' | 'query'>;

export interface AppOptions {
  service: ServiceName;
  handlers: Record<string, Handler>;
  rawHandlers?: Record<string, RawHandler>;
  verifier: Verifier;
  /** Limits the bodies for handlers; raw handlers use their own budget. */
  bodyBudget?: BodyBudget;
  log: Logger;
  duration: Histogram<'route' | 'status'>;
  tracer?: Tracer | undefined;
  /** Required if the service has routes with an `Idempotency-Key`. */
  idempotency?: RepeatGuard;
}

/** Limits of one tenant, so it cannot occupy all database connections. */
const readsInFlight = {
  perKey: 16,
  maxWaiting: 256,
  longestWait: {
    ms: 7_000,
    error: () =>
      new AppError('service_unavailable', 'Too many requests of this tenant are being served.', {
        retryAfterMs: 1_000,
      }),
  },
};

/** Returns the principal of a tenant key. Throws for owner keys, which have no tenant. */
export function tenantOf(call: Pick<Call, 'principal'>): TenantPrincipal {
  if (!isTenantPrincipal(call.principal)) throw keyOfTenantNeeded();
  return call.principal;
}

/**
 * Creates the HTTP handler of a service: express's router with the routes of the service. It checks assertion, access
 * and shapes, and converts results and errors of handlers to responses. Throws when the handlers differ from the route
 * table. Requests that the edge of this process hands over, with their routes, bypass express, as raw handlers do: its
 * layers would add a third to their cost.
 */
export function createApp(options: AppOptions): RequestListener {
  const served = routes.filter((route) => route.service === options.service);
  assertComplete(options, served);
  const server = new RouteServer(options, served);
  const router = routerOf(served, (request, response, match) => server.answer(request, response, match));
  const matcher = new RouteMatcher(served);
  return (request, response) => {
    const exchange = handedOver(request);
    if (exchange !== undefined) {
      const { route, params } = exchange;
      void server.answer(request, response, { kind: 'route', route, params });
      return;
    }
    const { method = '', url = '' } = request;
    const match = matcher.match(method, url.split('?', 1)[0] ?? '');
    if (match.kind !== 'route' || !Object.hasOwn(options.rawHandlers ?? {}, match.route.id)) {
      router(request, response);
      return;
    }
    // The edge sets its own Date header, so this one would only cost time.
    response.sendDate = false;
    void server.answer(request, response, match);
  };
}

function assertComplete(
  { service, handlers, rawHandlers, idempotency }: AppOptions,
  routes: readonly Route[],
): void {
  const served = [...Object.keys(handlers), ...Object.keys(rawHandlers ?? {})].sort();
  const declared = routes.map((route) => route.id).sort();
  if (served.join() !== declared.join())
    throw new Error(
      `${service} has handlers for [${served.join()}] but the route table has [${declared.join()}]`,
    );
  const changing = routes.filter(
    ({ id, administrative }) => administrative && Object.hasOwn(rawHandlers ?? {}, id),
  );
  if (changing.length > 0)
    throw new Error(
      `${service} has raw handlers for [${changing.map(({ id }) => id).join()}], which accept dry_run: raw handlers get none`,
    );
  if (idempotency === undefined && routes.some((route) => route.idempotencyKey))
    throw new Error(`${service} has routes that accept an Idempotency-Key but no option idempotency`);
}

class RouteServer {
  readonly #options: AppOptions;
  readonly #raw: Record<string, RawHandler>;
  readonly #tables: ReadonlyMap<string, Table>;
  readonly #reads = new FairQueue(readsInFlight);

  constructor(options: AppOptions, routes: readonly Route[]) {
    this.#options = options;
    this.#raw = options.rawHandlers ?? {};
    this.#tables = tablesOf(routes);
  }

  async answer(request: IncomingMessage, response: ServerResponse, match: Match): Promise<void> {
    const exchange = handedOver(request);
    const context = exchange === undefined ? requestContext(request) : innerContext(exchange);
    const dialect = exchange?.dialect ?? dialectNamed(request.headers[dialectHeader]);
    const startedAt = monotonicMs();
    const matched = match.kind === 'route' ? match.route : null;
    try {
      if (match.kind !== 'route') throw noRoute(match, request);
      const { route, params } = match;
      const identity =
        exchange === undefined
          ? await checkPrincipal(request, route, this.#options.verifier)
          : checkExchange(exchange);
      const { requestId, trace } = context;
      const { principal, assertion } = identity;
      const call = { requestId, trace, principal, assertion, dialect, route, params, query: undefined };
      await this.#serve(request, response, call);
    } catch (error) {
      this.#fail(response, error, { ...context, dialect });
    } finally {
      const endedAt = monotonicMs();
      const status = response.statusCode;
      this.#options.duration.observe({ route: matched?.id ?? 'none', status }, (endedAt - startedAt) / 1_000);
      this.#options.tracer?.record(
        requestSpan({ context, method: request.method ?? '', route: matched, status, startedAt, endedAt }),
      );
    }
  }

  #serve(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    const rawHandler = this.#raw[call.route.id];
    if (rawHandler === undefined) return this.#handle(request, response, call);
    call.query = readQuery(request.url, call.route).query;
    return rawHandler(request, response, call);
  }

  async #handle(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    const bytes = await this.#readJson(request, response, call);
    const answer = (): Promise<Answered> => this.#answered(request, bytes, call);
    const { status, ...written } = await (isRead(call.route) ? this.#read(response, call, answer) : answer());
    if (written.text === null) sendNothing(response, written.headers);
    else sendWritten(response, status, written);
  }

  /** Writing is part of a read: a long page waiting for its turns counts, and is given up with it. */
  async #answered(request: IncomingMessage, bytes: Buffer, call: RawCall): Promise<Answered> {
    const reply = await this.#reply(request, bytes, call);
    const status = replyStatus(reply, call.route);
    const headers = { ...reply.headers, [requestIdHeader]: call.requestId };
    if (status === 204) return { status, text: null, headers };
    return { status, ...(await this.#write(request, { ...reply, headers }, call)) };
  }

  /** Lists go out as CSV to clients preferring it, and all else as JSON. */
  async #write(
    { url = '', headers: { accept } }: IncomingMessage,
    { body, headers }: Reply,
    { route, principal: { tenantId } }: RawCall,
  ): Promise<Written> {
    const table = this.#tables.get(route.id);
    if (table === undefined || !prefersCsv(accept)) {
      const text = await textOf(body, tenantId);
      const varies = table !== undefined && variesByAccept;
      return { text, headers: { 'content-type': 'application/json', ...headers, ...varies } };
    }
    const hasMark = queryOf(url)['bom'] !== 'false';
    const written = await csvPage(table, body as ListPage, { route, url, hasMark, tenantId });
    return { ...written, headers: { ...headers, ...variesByAccept, ...written.headers } };
  }

  /** A read is given up if its client leaves before its turns have come. */
  #read<Result>(response: ServerResponse, call: RawCall, answer: () => Promise<Result>): Promise<Result> {
    const left = leaving(response);
    return forCaller(left, () => this.#reads.run(call.principal.tenantId, answer, left));
  }

  /** Reads a body with a JSON content type; returns no bytes for a route without a body. */
  async #readJson(
    request: IncomingMessage,
    response: ServerResponse,
    { route, principal }: Pick<Call, 'route' | 'principal'>,
  ): Promise<Buffer> {
    if (route.body === undefined) return Buffer.alloc(0);
    checkBodyHeaders(request, route);
    const { bodyBudget } = this.#options;
    const share =
      bodyBudget === undefined || !hasBody(request)
        ? undefined
        : openShare(bodyBudget, principal.tenantId, response);
    return readBody(request, route.bodyLimit, { share });
  }

  async #reply(request: IncomingMessage, bytes: Buffer, call: RawCall): Promise<Reply> {
    const { route, principal, params, requestId } = call;
    const handler = this.#options.handlers[route.id];
    if (handler === undefined) throw new Error(`no handler for ${route.id}`);
    const key = route.idempotencyKey ? idempotencyKeyOf(request) : null;
    const parsed = await jsonOf(bytes, call);
    const checked = {
      ...call,
      ...readQuery(request.url, route, this.#tables.has(route.id)),
      body: await readPart(bytes, principal.tenantId, () => checkBody(parsed, route)),
      log: this.#options.log.child({ request_id: requestId, trace_id: call.trace.traceId }),
      clientIp: clientIpOf(request),
    };
    const work = (claim: Claim | null): Promise<Reply> => handler({ ...checked, claim });
    if (checked.dryRun) return dryRunReply(await work(null), route);
    const { idempotency } = this.#options;
    if (key === null || idempotency === undefined) return work(null);
    return idempotency.once(
      {
        tenantId: principal.tenantId,
        key,
        target: targetOf(route.id, params),
        fingerprint: fingerprintOf(principal, { url: request.url ?? '', body: bytes }),
        requestId,
      },
      work,
    );
  }

  #fail(
    response: ServerResponse,
    error: unknown,
    { requestId, trace, dialect }: RequestContext & Pick<Call, 'dialect'>,
  ): void {
    logFailure(this.#options.log, { request_id: requestId, trace_id: trace.traceId }, error);
    const known = toAppError(error);
    if (!response.headersSent) response.setHeader(errorCodeHeader, known.publicCode);
    sendError(response, known, requestId, dialect);
  }
}

/** A reply as it is sent; without a text for 204. */
type Answered = { status: number } & (Written | { text: null; headers: Record<string, string> });

/** Routes of lists, by their ids. */
function tablesOf(routes: readonly Route[]): ReadonlyMap<string, Table> {
  return new Map(
    routes.flatMap((route) => {
      const table = tableOf(route);
      return table === null ? [] : [[route.id, table] as const];
    }),
  );
}

const variesByAccept = { vary: 'Accept' };

/** Bodies up to this size are written at once. */
const shortChars = 64 * 1024;

/** Text of a body. A long one, like a page of 4 MiB, waits for the turn of its tenant at the event loop. */
function textOf(body: unknown, tenantId: string | null): Buffer | Promise<Buffer> {
  return isLongAsJson(body, shortChars) ? runCooperatively(tenantId, () => jsonText(body)) : jsonText(body);
}

/** Whether the route only reads, by POST too. */
function isRead({ method, access }: Route): boolean {
  return method === 'GET' || (access.kind === 'scope' && access.scope.endsWith('.read'));
}

/**
 * Aborts with `reasonOf()` when the client leaves before it has its response. `isCut`: whether the server closed the
 * response; then it aborts even after all bytes of the response. `left`: is aborted, in place of a controller of its own.
 */
export function leaving(
  response: ServerResponse,
  reasonOf: () => Error = clientLeft,
  isCut: () => boolean = () => false,
  left = new AbortController(),
): AbortSignal {
  if (response.destroyed) left.abort(reasonOf());
  response.once('close', () => {
    if (!response.writableFinished || isCut()) left.abort(reasonOf());
  });
  return left.signal;
}

/** Error for a path without a route, or without one for the method. Names both, without the query, and a path `meant`. */
export function noRoute(
  match: Exclude<Match, { kind: 'route' }>,
  { method = '', url = '' }: Pick<IncomingMessage, 'method' | 'url'>,
  meant?: string,
): AppError {
  const advice = meant === undefined ? '' : ` Did you mean ${shownPath(meant)}? Check the client's base URL.`;
  if (match.kind === 'none')
    return new AppError(
      'route_not_found',
      `There is no such endpoint: ${method} ${shownPath(url)}.${advice}`,
    );
  return new AppError('method_not_allowed', `This endpoint does not support ${method}.`, {
    headers: { allow: match.allow.join(', ') },
  });
}

/** The longest part of a requested path in a message. */
const maxPathChars = 200;

function shownPath(url: string): string {
  const [path = ''] = url.split('?', 1);
  const printable = path.replaceAll(/[^\x21-\x7e]/g, '?');
  return printable.length > maxPathChars ? `${printable.slice(0, maxPathChars)}...` : printable;
}

/** The reply of a dry run: without a location, and without ids of new resources and secrets. */
function dryRunReply({ headers, body, ...reply }: Reply, { nullInDryRun }: Route): Reply {
  const { location: _, ...others } = headers ?? {};
  const nulls = Object.fromEntries(nullInDryRun.map((name) => [name, null]));
  return { ...reply, headers: others, body: body === undefined ? undefined : { ...Object(body), ...nulls } };
}

/** The status of a reply or, by default, of its route. */
export function replyStatus(reply: Reply, route: Route): number {
  return reply.status ?? route.response.status;
}

async function jsonOf(
  bytes: Buffer,
  { route, principal }: Pick<Call, 'route' | 'principal'>,
): Promise<unknown> {
  // Actions like revoke need no body; for others, validation reports the missing fields.
  return route.body === undefined || bytes.length === 0 ? {} : parseBody(bytes, principal.tenantId);
}

function checkBody(parsed: unknown, { body }: Route): unknown {
  return body === undefined ? undefined : validate(body, parsed, 'body');
}
