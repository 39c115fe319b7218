import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

/** The cookies that a browser has at the issuer. */
export type AtIssuer = Map<string, string>;

interface Visited {
  next: URL | null;
  text: string;
}

/** A certified issuer, `oidc-provider`, whose only person has these groups. */
export class CertifiedIssuer {
  readonly url: string;
  readonly #close: () => Promise<void>;
  groups: string[] = ['engineers'];
  /** Takes the forms that the issuer sends to the gateway. */
  report: (path: string, form: URLSearchParams) => Promise<Response> = async () => new Response();

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  static async start(publicUrl: string): Promise<CertifiedIssuer> {
    const server = createServer();
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const issuer = new CertifiedIssuer(url, async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    });
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const key = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'one' };
    const provider = new Provider(url, {
      jwks: { keys: [key] as never },
      clients: [
        {
          ...{ client_id: 'gatehouse', client_secret: 'a-secret-of-the-client' },
          redirect_uris: [`${publicUrl}/login/oidc/certified/callback`],
          post_logout_redirect_uris: [`${publicUrl}/login`],
          grant_types: ['authorization_code', 'refresh_token'],
          backchannel_logout_uri: `${publicUrl}/login/oidc/certified/backchannel-logout`,
          backchannel_logout_session_required: true,
        },
      ],
      pkce: { required: () => true },
      claims: { openid: ['sub', 'groups'], profile: ['name'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['a key of cookies'] },
      features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
      fetch: async (asked, { body } = {}) => {
        const form = body instanceof URLSearchParams ? body : new URLSearchParams();
        return issuer.report(new URL(new Request(asked).url).pathname, form);
      },
      findAccount: (_context, accountId) => ({
        accountId,
        claims: async () => ({ sub: accountId, name: 'Ada Lovelace', groups: issuer.groups }),
      }),
      issueRefreshToken: async () => true,
      interactions: { url: () => '/interaction' },
      loadExistingGrant: async (context) => {
        const { client, session } = context.oidc;
        const grant = new context.oidc.provider.Grant({
          ...(client !== undefined && { clientId: client.clientId }),
          ...(session?.accountId !== undefined && { accountId: session.accountId }),
        });
        grant.addOIDCScope('openid profile');
        await grant.save();
        return grant;
      },
    });
    const handle = provider.callback();
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (request.url?.startsWith('/interaction') === true)
        void provider.interactionFinished(request, response, { login: { accountId: 'ada' } });
      else void handle(request, response);
    });
    return issuer;
  }

  /** Follows a browser from the page of the issuer to the gateway; returns the path and query there. */
  async logIn(location: string, cookies: AtIssuer = new Map()): Promise<string> {
    return this.#follow(await this.#visit(location, cookies), cookies);
  }

  /** Likewise from the page for logout. The person confirms it. */
  async logOut(location: string, cookies: AtIssuer): Promise<string> {
    const { text } = await this.#visit(location, cookies);
    const [, action = '', xsrf = ''] = /action="([^"]+)">.*name="xsrf" value="(\w+)"/.exec(text) ?? [];
    const form = new URLSearchParams({ xsrf, logout: 'yes' });
    return this.#follow(await this.#visit(action, cookies, form), cookies);
  }

  async #follow(visited: Visited, cookies: AtIssuer): Promise<string> {
    let { next, text } = visited;
    for (let redirects = 0; redirects < 10; redirects += 1) {
      if (next === null) throw new Error(`the issuer answered: ${text}`);
      if (next.origin !== this.url) return next.pathname + next.search;
      ({ next, text } = await this.#visit(next.href, cookies));
    }
    throw new Error('the issuer redirects without end');
  }

  async #visit(location: string, cookies: AtIssuer, form?: URLSearchParams): Promise<Visited> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(location, {
      ...{ redirect: 'manual', headers: { cookie } },
      ...(form !== undefined && { method: 'POST', body: form }),
    });
    for (const set of response.headers.getSetCookie()) {
      const [pair = ''] = set.split('; ');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const next = response.headers.get('location');
    return { next: next === null ? null : new URL(next, location), text: await response.text() };
  }

  stop(): Promise<void> {
    return this.#close();
  }
}
