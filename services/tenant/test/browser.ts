import { expect } from '@jest/globals';
import type { Route } from '@gatehouse/contract/route';
import { routes } from '@gatehouse/contract/routes';
import type { TenantServiceUnderTest } from './tenant-service.ts';

export interface Sent {
  cookie?: string;
  headers?: Record<string, string>;
  method?: string;
  body?: unknown;
  form?: Record<string, string>;
  network?: string;
  /** The HTTP port of another replica. */
  port?: number;
}

export interface Shown {
  status: number;
  headers: Headers;
  text: string;
}

/** The headers of a page of the gateway itself. */
export const ownPage: Record<string, string> = { 'sec-fetch-site': 'same-origin' };

export const cookieOf = (headers: Headers): string => (headers.get('set-cookie') ?? '').split(';')[0] ?? '';

/** Sends requests without a key, as the edge passes those of browsers and programs on. */
export class Browser {
  readonly #tenants: TenantServiceUnderTest;

  constructor(tenants: TenantServiceUnderTest) {
    this.#tenants = tenants;
  }

  async browse(
    path: string,
    { cookie, headers = ownPage, method = 'POST', ...sent }: Sent = {},
  ): Promise<Shown> {
    const route = routes.find((one) => one.path === path.split('?')[0] && one.method === method);
    const body = textOf(sent);
    const type = sent.form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const { service, identity } = this.#tenants;
    const response = await fetch(`http://127.0.0.1:${sent.port ?? service.httpPort}${path}`, {
      ...{ method, redirect: 'manual' },
      headers: {
        'x-gatehouse-assertion': await (await identity.signer('edge')).anonymous(route?.id ?? ''),
        'x-gatehouse-client-ip': sent.network ?? '192.0.2.1',
        ...(body === null ? {} : { 'content-type': type }),
        ...passed({ ...(cookie !== undefined && { cookie }), ...headers }, route),
      },
      body,
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Logs in with a key; returns the cookie. */
  async logIn(key: string, cookie?: string, network?: string): Promise<string> {
    const sent = {
      body: { key },
      ...(cookie !== undefined && { cookie }),
      ...(network !== undefined && { network }),
    };
    const answer = await this.browse('/login/key', sent);
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    return cookieOf(answer.headers);
  }
}

function textOf({ form, body }: Sent): string | null {
  if (form !== undefined) return new URLSearchParams(form).toString();
  return body === undefined ? null : JSON.stringify(body);
}

/** The headers of a client that the edge passes on to a route. */
function passed(headers: Record<string, string>, route: Route | undefined): Record<string, string> {
  const names = route?.access.kind === 'ticket' ? [...route.access.headers, 'content-type'] : [];
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name)));
}
