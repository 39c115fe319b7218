import { expect } from '@jest/globals';
import type { TestIdentity } from './identity.ts';

/** The routes of a consent, by their ids. */
export interface ConsentRoutes {
  page: string;
  begin: string;
  callback: string;
}

/** The address that the button leads to, and the cookie that the browser has then. */
export interface Pressed {
  location: string;
  cookie: string;
}

/** A browser in which a person consents, as the edge passes its requests on to a service. */
export class ConsentBrowser {
  readonly #identity: TestIdentity;
  readonly #routes: ConsentRoutes;

  constructor(identity: TestIdentity, routes: ConsentRoutes) {
    this.#identity = identity;
    this.#routes = routes;
  }

  open(link: string, port: number): Promise<Response> {
    return this.#browse(this.#routes.page, link, { port });
  }

  /** Presses the button of a page over https. */
  async press(link: string, port: number): Promise<Pressed> {
    // Pages of other sites can't press it.
    for (const foreign of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
      expect((await this.#press(link, port, foreign)).status).toBe(410);
    const pressed = await this.#press(link, port, { 'sec-fetch-site': 'same-origin' });
    expect(pressed.status).toBe(303);
    const set = pressed.headers.get('set-cookie') ?? '';
    expect(set).toMatch(
      /^__Host-gatehouse-consent=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    );
    return { location: pressed.headers.get('location') ?? '', cookie: set.split(';')[0] ?? '' };
  }

  /** Presses the button with these headers alone. */
  pressWith(link: string, port: number, headers: Record<string, string>): Promise<Response> {
    return this.#press(link, port, headers);
  }

  #press(link: string, port: number, headers: Record<string, string>): Promise<Response> {
    return this.#browse(this.#routes.begin, link, { method: 'POST', port, headers });
  }

  comeBack(path: string, { port, cookie }: { port: number; cookie?: string }): Promise<Response> {
    return this.#browse(this.#routes.callback, path, {
      port,
      ...(cookie !== undefined && { headers: { cookie } }),
    });
  }

  async #browse(
    routeId: string,
    path: string,
    {
      method = 'GET',
      headers = {},
      port,
    }: { method?: string; headers?: Record<string, string>; port: number },
  ): Promise<Response> {
    const assertion = await (await this.#identity.signer('edge')).anonymous(routeId);
    return fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        'x-gatehouse-assertion': assertion,
        'x-gatehouse-client-ip': '198.51.100.8',
        ...headers,
      },
    });
  }
}
