import type { ProviderSimulator } from './provider-simulator/simulator.ts';
import type { TenantAccess } from './tenants.ts';

export interface Call {
  key?: string | null;
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Which edge, where a test has a say in that. */
  edge?: number;
}

export interface Answer {
  status: number;
  headers: Headers;
  // What is in it depends on the route.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
}

/** Services with a database. */
export type ServiceName = 'tenant' | 'agent' | 'analytics' | 'chat';

/** A gateway as its clients and its provider know it, wherever it runs: what most tests need and no more. */
export interface SomeGateway {
  readonly url: string;
  readonly ownerKey: string;
  readonly simulator: ProviderSimulator;
  /** One HTTP call; `body` is sent as JSON unless it is text. */
  call: (route: string, call?: Call) => Promise<Answer>;
  /** Rows of a service's database as the superuser sees them. */
  rows: (service: ServiceName, sql: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
  /** A new tenant with an admin key and a user key. */
  makeTenant: (settings?: Record<string, unknown>) => Promise<TenantAccess>;
  stop: () => Promise<void>;
}

/** One call of the gateway at an address. */
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
  const json = response.headers.get('content-type')?.includes('json') === true;
  return {
    status: response.status,
    headers: response.headers,
    body: json ? (JSON.parse(text) as unknown) : text,
  };
}
