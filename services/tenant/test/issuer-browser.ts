import { createHash } from 'node:crypto';
import { routes } from '@gatehouse/contract/routes';
import type { Service } from '@gatehouse/shell/service';
import type { TenantServiceUnderTest } from './tenant-service.ts';

export interface Visit {
  method?: 'GET' | 'POST';
  form?: Record<string, string>;
  headers?: Record<string, string>;
  /** The replica of the service that it reaches. */
  at?: Service;
}

export interface Page {
  status: number;
  headers: Headers;
  text: string;
  location: string;
}

/** A browser with its cookies, behind the edge. */
export class IssuerBrowser {
  readonly cookies = new Map<string, string>();
  /** The address that its requests come from. */
  readonly #network: string;
  readonly #service: TenantServiceUnderTest;

  constructor(service: TenantServiceUnderTest, network = '192.0.2.7') {
    this.#service = service;
    this.#network = network;
  }

  async visit(path: string, { method = 'GET', form, headers = {}, at }: Visit = {}): Promise<Page> {
    const pathname = path.split('?')[0] ?? '';
    const found = routes.find(
      (route) =>
        route.method === method && new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
    );
    const names =
      found?.access.kind === 'ticket' || found?.access.kind === 'signed' ? found.access.headers : [];
    const sent = { cookie: this.cookieHeader, 'sec-fetch-site': 'same-origin', ...headers };
    const passed = Object.entries(sent).filter(([name, value]) => names.includes(name) && value !== '');
    const signer = await this.#service.identity.signer('edge');
    const port = (at ?? this.#service.service).httpPort;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      ...{ method, redirect: 'manual' },
      headers: {
        'x-gatehouse-assertion': await signer.anonymous(found?.id ?? ''),
        'x-gatehouse-client-ip': this.#network,
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...Object.fromEntries(passed),
      },
      body: form === undefined ? null : new URLSearchParams(form).toString(),
    });
    for (const cookie of response.headers.getSetCookie()) this.#keep(cookie);
    const text = await response.text();
    return {
      ...{ status: response.status, headers: response.headers, text },
      location: response.headers.get('location') ?? '',
    };
  }

  get cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** The token of the session. */
  get session(): string | undefined {
    return this.cookies.get('__Host-gatehouse');
  }

  /** The key behind the session, as the edge gets it; undefined if the session has ended. */
  async principal() {
    const tokenSha256 = createHash('sha256')
      .update(this.session ?? '')
      .digest();
    const peer = await this.#service.peer('edge');
    return (await peer.call('authenticateSession', { tokenSha256 }, { deadlineMs: 5_000 })).key;
  }

  #keep(cookie: string): void {
    const [pair = '', ...attributes] = cookie.split('; ');
    const at = pair.indexOf('=');
    if (attributes.includes('Max-Age=0')) this.cookies.delete(pair.slice(0, at));
    else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}
