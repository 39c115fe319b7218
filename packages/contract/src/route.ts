import { z } from 'zod';
import type { DialectName, ModelOperation } from './dialects.ts';
import type { OAuthErrorCode } from './oauth.ts';
import { isAtOrUnder, isOperatorSurface } from './operator-surface.ts';
import type { Scope } from './scopes.ts';
import type { ServiceName } from './services.ts';

/** Access rule of a route. There is no default: a route without one does not compile. */
export type Access =
  | { kind: 'public' }
  /**
   * No key: the handler verifies a signature over the request. The edge passes on these headers of the client too, with
   * an assertion valid for this route alone. With `customHeaders`, also those that `isSignatureHeader` allows, since
   * tenants name the header of a signature.
   */
  | { kind: 'signed'; headers: readonly string[]; customHeaders?: true }
  /**
   * For browsers without a key: the handler checks a ticket or a state. The edge passes on these headers of the client
   * too, with an assertion valid for this route alone. With `scope`, a request with a key is held to it.
   */
  | { kind: 'ticket'; headers: readonly string[]; scope?: Scope }
  /** The session of a browser, and no key. */
  | { kind: 'session' }
  /**
   * Any valid key. With `ofTenant`, not those of owners, which belong to no tenant. With `notConfirmed`, not those a
   * person has made for themselves or given to a program: they end sooner than the things they would make or change.
   */
  | { kind: 'key'; ofTenant?: true; notConfirmed?: true }
  /** With `owners`, also for owner keys, which belong to no tenant. */
  | { kind: 'scope'; scope: Scope; also?: Scope; owners?: true }
  /**
   * Keys with the role `admin`, whatever their scopes. With `orSelf`, also sessions bound to a user and with these
   * scopes; the handler holds them to the user's own resources.
   */
  | { kind: 'admin'; orSelf?: readonly Scope[] }
  | { kind: 'owner' };

/**
 * A request and its response, for the documentation. Tests validate both against the shapes of the route and replay
 * them.
 */
export interface Example {
  summary: string;
  /** Path parameters. */
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number>>;
  /** An array of its lines for a body of JSON lines; likewise the response. */
  body?: unknown;
  /** The response body; absent without one. */
  response?: unknown;
  /** The response as server-sent events, instead of `response`. */
  events?: string;
}

/** The examples of a route, by their names in the document. */
export type Examples = Readonly<Record<string, Example>>;

export interface Route {
  /** Stable name; also the metric label and the OpenAPI operation id. */
  id: string;
  /** `*` matches every method. */
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | '*';
  /**
   * `{name}` matches one path segment, `{name+}` one or more, `{name+}:call` the same before a colon and a name, `{name*}`
   * the rest of the path, unchanged.
   */
  path: string;
  service: ServiceName;
  /** The dialects of its clients, if they are not those of `chat` alone. Keys and errors are as each of them has it. */
  dialects?: readonly DialectName[];
  access: Access;
  /** Whether `X-Service-User-Id` sets the acting user; other routes ignore it. */
  actingUser: boolean;
  /** Whether the header is required, unless the key is bound to a user. */
  needsActingUser?: true;
  /** Whether a repeat with the same `Idempotency-Key` gets the first response; other routes ignore the header. */
  idempotencyKey: boolean;
  /** Whether it is an administrative change, which accepts `?dry_run=true`; see `dry-run.ts`. */
  administrative: boolean;
  /** Members of the response that are null in a dry run: ids of new resources, secrets, and URLs with either. */
  nullInDryRun: readonly string[];
  /** Members that the response has in a dry run alone. */
  onlyInDryRun?: z.ZodRawShape;
  /** Whether the browser relay rejects the route; see `operator-surface.ts`. */
  operatorSurface: boolean;
  /**
   * Bodies are passed on unparsed and responses may stream for long, so edge and service use a faster path without
   * express.
   */
  passThrough: boolean;
  /** Whether the response is the number of tokens of a passed-on request: it is no run. */
  counts?: true;
  /** The operation of the run of a passed-on request, where it is not `chat`. */
  operation?: Exclude<ModelOperation, 'chat'>;
  /** Maximum request body in bytes; 0 for a route without body. */
  bodyLimit: number;
  /** Shape of the request body; absent for a route without body or with one defined by a third party. */
  body?: z.ZodType;
  /** Shape of a passed-on body, for the documentation only: not validated. */
  passedBody?: z.ZodType;
  /** Shape of each line of a body of JSON lines, which edge and service stream; the handler validates the lines. */
  bodyLines?: z.ZodType;
  /** Fields of a form with a file as body, streamed by edge and service; the handler validates them. */
  bodyForm?: z.ZodObject;
  /** Whether the body may be a form (`application/x-www-form-urlencoded`) in place of JSON, as OAuth has it. */
  takesForm?: true;
  /** The codes of errors in OAuth's shape; absent for routes with a dialect's error shape. */
  oauthErrors?: readonly OAuthErrorCode[];
  /** Query parameters; if absent, every parameter is rejected. */
  query?: z.ZodObject;
  response: RouteResponse;
  summary: string;
  /** Details beyond the summary and the shapes, as Markdown. */
  description?: string;
  /** Absent for routes outside the OpenAPI document. */
  examples?: Examples;
}

export interface RouteResponse {
  status: 200 | 201 | 202 | 204 | 303;
  shape: z.ZodType | null;
  /** Whether the response may be server-sent events. */
  events?: true;
  /** Whether the response is JSON lines, each of the shape. */
  lines?: true;
  /** Whether the response is CSV with a first line of names, and `shape` the shape of its text. */
  csv?: true;
  /** Another status with the same shape. */
  also?: 200 | 202 | 503;
  /** Whether the response has a strong `ETag`, for 304 after `If-None-Match`. */
  revalidated?: true;
}

export const MiB = 1024 * 1024;

/** The content type of a form with a file (RFC 7578). */
export const formData = 'multipart/form-data';

/** The content type of a form without files (WHATWG URL). */
export const urlEncoded = 'application/x-www-form-urlencoded';

/** The content type of JSON lines. */
export const jsonLines = 'application/x-ndjson';

/** The content type of tables as text (RFC 4180), in UTF-8. */
export const csv = 'text/csv';

/** The query of answers as CSV: of exports, and of each list beside its own. */
export const csvQuery = z.strictObject({
  bom: z
    .enum(['true', 'false'])
    .default('true')
    .describe('`false`: CSV without the byte order mark by which Excel knows UTF-8'),
});

/** Whether a route takes the session of a browser in place of a key: the API's native paths for keys. */
export function takesSession({ access, path }: Pick<Route, 'access' | 'path'>): boolean {
  if (access.kind === 'public' || access.kind === 'signed' || access.kind === 'ticket') return false;
  return isAtOrUnder(path, '/v1') || isAtOrUnder(path, '/internal');
}

/** Access for keys with this scope, and with another one if given. */
export const scope = (name: Scope, also?: Scope): Access => ({
  kind: 'scope',
  scope: name,
  ...(also !== undefined && { also }),
});

type Method = Route['method'];
type Optional =
  | 'actingUser'
  | 'idempotencyKey'
  | 'administrative'
  | 'nullInDryRun'
  | 'passThrough'
  | 'bodyLimit';
type RouteFields = Omit<Route, Optional | 'id' | 'method' | 'path' | 'operatorSurface'> &
  Partial<Pick<Route, Optional>>;

/** Scopes of configuration; the others are for the data of agents and their users. */
const administrativeScopes: ReadonlySet<Scope> = new Set<Scope>([
  'agents.write',
  'channels.write',
  'guardrails.write',
  'keys.write',
  'mcp.write',
  'runs.write',
  'policies.write',
  'scim.write',
  'transfers.write',
  'users.write',
  'webhooks.write',
]);

/** Whether a route is an administrative change unless its entry says otherwise. */
function changesConfiguration({ method, access }: Pick<Route, 'method' | 'access'>): boolean {
  if (method === 'GET' || method === '*') return false;
  if (access.kind === 'scope') return administrativeScopes.has(access.scope);
  return access.kind === 'owner' || access.kind === 'admin' || access.kind === 'key';
}

/** Members that are null in a dry run unless the route's entry names them: the id of a new resource. */
function newIdsOf({ status, shape }: Route['response']): readonly string[] {
  const creates = status === 201 || status === 202;
  return creates && shape instanceof z.ZodObject && 'id' in shape.shape ? ['id'] : [];
}

/** The operation of the runs of a route; null for a route without runs. */
export function runOperation({ passThrough, counts, operation }: Route): ModelOperation | null {
  return !passThrough || counts === true ? null : (operation ?? 'chat');
}

/** Creates an entry of the route table with default values: `route('agents.list', 'GET /v1/agents', { … })`. */
export function route(id: string, endpoint: `${Method} /${string}`, fields: RouteFields): Route {
  const { body, bodyLines, bodyForm } = fields;
  const bodyLimit = [body, bodyLines, bodyForm].every((shape) => shape === undefined) ? 0 : MiB;
  const [method, path] = endpoint.split(' ') as [Method, string];
  const administrative = changesConfiguration({ method, access: fields.access });
  const nullInDryRun = (fields.administrative ?? administrative) ? newIdsOf(fields.response) : [];
  return {
    ...{ administrative, nullInDryRun },
    ...{ actingUser: false, idempotencyKey: false, passThrough: false, bodyLimit },
    ...fields,
    ...{ id, method, path, operatorSurface: isOperatorSurface(method, path) },
  };
}

/** `route` for entries sharing these fields. An entry may replace them. */
export function routesWith<const Shared extends Partial<RouteFields>>(shared: Shared) {
  type Rest = Omit<RouteFields, keyof Shared> & Partial<RouteFields>;
  return (id: string, endpoint: `${Method} /${string}`, fields: Rest): Route =>
    // The compiler doesn't see the fields missing in `shared` among `fields`.
    route(id, endpoint, { ...shared, ...fields } as unknown as RouteFields);
}

/** Members of an example, for the request behind it. */
export const pick = <Item, Name extends keyof Item>(item: Item, ...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, item[name]])) as Pick<Item, Name>;

/** The only page of a list, for examples. */
export const pageOf = (item: unknown) => ({ data: [item], has_more: false, next_cursor: null });

/** The example of a list read by a page of 20. */
export const pageExample = (summary: string, item: unknown): Examples => ({
  page: { summary, query: { limit: 20 }, response: pageOf(item) },
});

export const owner: Access = { kind: 'owner' };
export const admin: Access = { kind: 'admin' };
export const ok = (shape: z.ZodType): RouteResponse => ({ status: 200, shape });
export const created = (shape: z.ZodType): RouteResponse => ({ status: 201, shape });
export const accepted = (shape: z.ZodType): RouteResponse => ({ status: 202, shape });
export const noContent: RouteResponse = { status: 204, shape: null };
