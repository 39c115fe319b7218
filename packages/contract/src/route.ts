import type { z } from 'zod';
import { isOperatorSurface } from './operator-surface.ts';
import type { Scope } from './scopes.ts';
import type { ServiceName } from './services.ts';

/** Who may call a route. There is no default: a route without access does not compile, nor start. */
export type Access =
  | { kind: 'public' }
  /** Any valid key. */
  | { kind: 'key' }
  | { kind: 'scope'; scope: Scope }
  | { kind: 'owner' };

/** One request and its response, for the documentation. Tests hold both to the route's shapes and replay them. */
export interface Example {
  summary: string;
  /** Parameters of the path. */
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number>>;
  body?: unknown;
  /** The JSON of the response; absent where there is none. */
  response?: unknown;
  /** The response as server-sent events instead. */
  events?: string;
}

/** The examples of one route, by their names in the document. */
export type Examples = Readonly<Record<string, Example>>;

export interface Route {
  /** Stable name, also the metric label and the OpenAPI operation id. */
  id: string;
  /** `*` is every method. */
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | '*';
  /** `{name}` is one path segment, `{name+}` one or more, `{name*}` whatever follows, as it was sent. */
  path: string;
  service: ServiceName;
  access: Access;
  /** Whether `X-Service-User-Id` names the acting user here; elsewhere it is ignored. */
  actingUser: boolean;
  /** Whether a repeat with the same `Idempotency-Key` gets the first answer; elsewhere the header is ignored. */
  idempotencyKey: boolean;
  /** Closed to the browser relay; `operator-surface.ts` says so by path. */
  operatorSurface: boolean;
  /** Bodies pass through unparsed and answers may stream for long: takes the short way through edge and service. */
  passThrough: boolean;
  /** Largest request body in bytes; 0 where none is read. */
  bodyLimit: number;
  /** Request body shape; absent where none is read or where a third party decides it. */
  body?: z.ZodType;
  /** What a body that passes through looks like, for the documentation: nothing is held to it. */
  passedBody?: z.ZodType;
  /** Query parameters; an absent shape means that none are known, so any is refused. */
  query?: z.ZodObject;
  response: RouteResponse;
  summary: string;
  /** What the summary and the shapes leave open, as Markdown. */
  description?: string;
  /** Absent for routes that the OpenAPI document leaves out. */
  examples?: Examples;
}

export interface RouteResponse {
  status: 200 | 201 | 204;
  shape: z.ZodType | null;
  /** Whether it may come as server-sent events too. */
  events?: true;
  /** Another status that comes with the same shape. */
  also?: 503;
  /** Whether it has a strong `ETag`, so that `If-None-Match` is answered with 304. */
  revalidated?: true;
}

export const MiB = 1024 * 1024;

/** For keys with this scope. */
export const scope = (name: Scope): Access => ({ kind: 'scope', scope: name });

type Optional = 'actingUser' | 'idempotencyKey' | 'passThrough' | 'bodyLimit';

/** An entry of the table, with the usual answers to what it leaves open. */
export function route(
  fields: Omit<Route, Optional | 'operatorSurface'> & Partial<Pick<Route, Optional>>,
): Route {
  const bodyLimit = fields.body === undefined ? 0 : MiB;
  const operatorSurface = isOperatorSurface(fields.method, fields.path);
  return {
    actingUser: false,
    idempotencyKey: false,
    operatorSurface,
    passThrough: false,
    bodyLimit,
    ...fields,
  };
}

export const owner: Access = { kind: 'owner' };
export const ok = (shape: z.ZodType): RouteResponse => ({ status: 200, shape });
export const created = (shape: z.ZodType): RouteResponse => ({ status: 201, shape });
export const noContent: RouteResponse = { status: 204, shape: null };
