import type { ProviderSimulator } from './provider-simulator/simulator.ts';
import type { TenantAccess } from './tenants.ts';

export interface Call {
  key?: string | null;
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** The index of the edge, if the test controls it. */
  edge?: number;
}

export interface Answer {
  status: number;
  headers: Headers;
  // Its members depend on the route.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

/** Services with a database. */
export type ServiceName = 'tenant' | 'agent' | 'analytics' | 'memory' | 'webhook' | 'chat';

/** A gateway from the perspective of clients and provider, wherever it runs: enough for most tests. */
export interface SomeGateway {
  readonly url: string;
  readonly ownerKey: string;
  readonly simulator: ProviderSimulator;
  /** Makes one HTTP call. `body` is sent as JSON unless it is text. */
  call: (route: string, call?: Call) => Promise<Answer>;
  /** Queries the database of a service as superuser. */
  rows: (service: ServiceName, sql: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
  /** Returns when the minute that limits go by is so many seconds old: moves their clock there, or waits. */
  untilSecond: (second: number) => Promise<void>;
  /** A new tenant with an admin key and a user key. */
  makeTenant: (settings?: Record<string, unknown>) => Promise<TenantAccess>;
  stop: () => Promise<void>;
}

/** Makes one call to the gateway at this address. */
export async function callGateway(url: string, route: string, call: Call = {}): Promise<Answer> {
  const { key = null, body, headers = {} } = call;
  const response = await fetch(`${url}${route}`, {
    method: call.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = /^application\/(\w+\+)?json\b/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    body: json ? (JSON.parse(text) as unknown) : text,
  };
}
