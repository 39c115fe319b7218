import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { RouteMatcher, type Match } from '@gatehouse/contract/match';
import { routes, type Route, type ServiceName } from '@gatehouse/contract/routes';
import { isTenantPrincipal, type Principal, type TenantPrincipal } from '@gatehouse/identity/principal';
import type { Verifier } from '@gatehouse/identity/verifier';
import { AppError, toAppError } from '@gatehouse/kit/errors';
import { monotonicMs } from '@gatehouse/kit/clock';
import { logFailure, type Logger } from '@gatehouse/kit/log';
import type { Histogram } from '@gatehouse/kit/metrics';
import type { Tracer } from '@gatehouse/kit/tracing';
import express, { type Express } from 'express';
import { hasBody, isJson, parseJson, readBody } from './body.ts';
import { checkPrincipal } from './principal-check.ts';
import { sendError, sendJson } from './reply.ts';
import { requestSpan } from './request-span.ts';
import { requestContext, requestIdHeader, type RequestContext } from './request-context.ts';
import { queryObject, validate } from './validate.ts';

/** What a handler works with: everything is checked already. `Body` and `Query` are the route's parsed shapes. */
export interface Call<Body = unknown, Query = unknown> extends RequestContext {
  principal: Principal;
  /** The edge's assertion of the principal, to pass on to other services. */
  assertion: string;
  params: Record<string, string>;
  body: Body;
  query: Query;
  log: Logger;
}

export interface Reply {
  /** Default: the route's. */
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
}

// The table binds each handler to its route's shapes; the handler states them in its own signature.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Handler = (call: Call<any, any>) => Promise<Reply>;

/** A handler that writes the response itself, for what must not be buffered or parsed twice. */
export type RawHandler = (request: IncomingMessage, response: ServerResponse, call: RawCall) => Promise<void>;
export type RawCall = RequestContext & { route: Route; principal: Principal; assertion: string };

export interface AppOptions {
  service: ServiceName;
  handlers: Record<string, Handler>;
  rawHandlers?: Record<string, RawHandler>;
  verifier: Verifier;
  log: Logger;
  duration: Histogram<'route' | 'status'>;
  tracer?: Tracer | undefined;
}

/** The principal inside a tenant. Throws for owner keys, which have no tenant data. */
export function tenantOf(call: Pick<Call, 'principal'>): TenantPrincipal {
  if (!isTenantPrincipal(call.principal))
    throw new AppError('role_missing', 'This endpoint is for keys of a tenant.');
  return call.principal;
}

/**
 * The HTTP handler of a service: matches the contract's routes, checks the edge's assertion, the access and the
 * shapes, and turns what handlers return or throw into responses. Throws when the service and the table disagree on
 * which routes it serves. Raw handlers are reached without express, whose own layers would cost them a third.
 */
export function createApp(options: AppOptions): RequestListener {
  const server = new RouteServer(options);
  const app: Express = express();
  app.disable('x-powered-by').disable('etag');
  app.use(async (request, response) => server.answer(request, response));
  const rawPaths = new Set(server.rawPaths);
  return (request, response) => {
    if (rawPaths.has(request.url ?? '')) void server.answer(request, response);
    else app(request, response);
  };
}

class RouteServer {
  readonly #options: AppOptions;
  readonly #matcher: RouteMatcher;
  readonly #raw: Record<string, RawHandler>;
  readonly rawPaths: readonly string[];

  constructor(options: AppOptions) {
    const own = routes.filter((route) => route.service === options.service);
    this.#options = options;
    this.#raw = options.rawHandlers ?? {};
    const served = [...Object.keys(options.handlers), ...Object.keys(this.#raw)].sort();
    const declared = own.map((route) => route.id).sort();
    if (served.join() !== declared.join()) {
      throw new Error(
        `${options.service} serves [${served.join()}] but the route table says [${declared.join()}]`,
      );
    }
    this.#matcher = new RouteMatcher(own);
    this.rawPaths = own.filter((route) => Object.hasOwn(this.#raw, route.id)).map((route) => route.path);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const context = requestContext(request);
    const startedAt = monotonicMs();
    response.setHeader(requestIdHeader, context.requestId);
    let matched: Route | null = null;
    try {
      const { route, params } = this.#resolve(request);
      matched = route;
      const identity = await checkPrincipal(request, route, this.#options.verifier);
      await this.#serve(request, response, { ...context, ...identity, route, params });
    } catch (error) {
      this.#fail(response, error, context);
    } finally {
      const endedAt = monotonicMs();
      const status = response.statusCode;
      this.#options.duration.observe({ route: matched?.id ?? 'none', status }, (endedAt - startedAt) / 1_000);
      this.#options.tracer?.record(
        requestSpan({ context, method: request.method ?? '', route: matched, status, startedAt, endedAt }),
      );
    }
  }

  #resolve(request: IncomingMessage): { route: Route; params: Record<string, string> } {
    const [path = ''] = (request.url ?? '').split('?', 1);
    const match = this.#matcher.match(request.method ?? '', path);
    if (match.kind === 'route') return match;
    throw noRoute(match, request.method ?? '');
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    call: RawCall & Pick<Call, 'params'>,
  ): Promise<void> {
    const rawHandler = this.#raw[call.route.id];
    if (rawHandler !== undefined) {
      readQuery(request, call.route);
      return rawHandler(request, response, call);
    }
    const handler = this.#options.handlers[call.route.id];
    if (handler === undefined) throw new Error(`no handler for ${call.route.id}`);
    const reply = await handler({
      ...call,
      body: await readShape(request, call.route),
      query: readQuery(request, call.route),
      log: this.#options.log.child({ request_id: call.requestId, trace_id: call.trace.traceId }),
    });
    const status = reply.status ?? call.route.response.status;
    if (status === 204) response.writeHead(204, reply.headers).end();
    else sendJson(response, status, reply.body, reply.headers);
  }

  #fail(response: ServerResponse, error: unknown, context: RequestContext): void {
    logFailure(this.#options.log, { request_id: context.requestId, trace_id: context.trace.traceId }, error);
    sendError(response, toAppError(error), context.requestId);
  }
}

/** The error for a path that matched no route, or not with this method. */
export function noRoute(match: Exclude<Match, { kind: 'route' }>, method: string): AppError {
  if (match.kind === 'none') return new AppError('route_not_found', 'There is no such endpoint.');
  return new AppError('method_not_allowed', `This endpoint does not support ${method}.`, {
    headers: { allow: match.allow.join(', ') },
  });
}

function readQuery(request: IncomingMessage, route: Route): unknown {
  const url = request.url ?? '';
  const start = url.indexOf('?');
  const fields = start < 0 ? {} : queryObject(url.slice(start + 1));
  if (route.query !== undefined) return validate(route.query, fields, 'query');
  const [unknown] = Object.keys(fields);
  if (unknown === undefined) return {};
  const param = unknown.slice(0, 200);
  throw new AppError('unknown_parameter', `Unknown query parameter: ${param}.`, { param });
}

async function readShape(request: IncomingMessage, route: Route): Promise<unknown> {
  if (route.body === undefined) return undefined;
  if (hasBody(request) && !isJson(request.headers['content-type'])) {
    throw new AppError('unsupported_media_type', 'The request body must be application/json.');
  }
  const bytes = await readBody(request, route.bodyLimit);
  // Actions such as revoke need no body; everything else says for itself which fields it misses.
  return validate(route.body, bytes.length === 0 ? {} : parseJson(bytes), 'body');
}
