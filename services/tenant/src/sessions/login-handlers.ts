import type { IncomingMessage, ServerResponse } from 'node:http';
import { keyLogin } from '@gatehouse/contract/sessions';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { isForm, parseJson, readBody } from '@gatehouse/http/body';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { credentialRefusedHeader } from '@gatehouse/http/credential-refused';
import type { HostCookie } from '@gatehouse/kit/host-cookie';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { AppError } from '@gatehouse/kit/errors';
import { queryObject, validate } from '@gatehouse/kit/validate';
import { isOwnPage } from '@gatehouse/public-access/own-page';
import { sendBrowserTo, sendPage } from '@gatehouse/public-access/page';
import type { Refusals } from '@gatehouse/public-access/refusals';
import type { KeyLogin, OpenedSession } from './key-login.ts';
import { loggedInPage, loginPage } from './login-page.ts';
import { returnTo } from './return-to.ts';
import type { SessionChangeStore } from './session-change-store.ts';
import type { FoundSession } from './session-system-store.ts';
import { sessionLife, showCurrent, tokenSha256Of, type From } from './session.ts';

export interface LoginDependencies {
  logins: KeyLogin;
  sessions: SessionChangeStore;
  /** Finds the open session of a token by its hexadecimal hash. */
  findSession: (tokenSha256: string) => Promise<FoundSession | null>;
  refusals: Refusals;
  cookie: HostCookie;
  publicUrl: string;
}

const maxFormBytes = 4_096;
const afterLogin = '/login';

/** `/login*` and `/logout`: browsers with and without a session. */
export function loginHandlers(dependencies: LoginDependencies): Record<string, RawHandler> {
  const browser = new BrowserLogin(dependencies);
  return {
    'login.key': (request, response, call) => browser.byKey(request, response, call),
    'login.page': (request, response, call) => browser.page(request, response, call),
    'login.form': (request, response, call) => browser.byForm(request, response, call),
    logout: (request, response, call) => browser.logOut(request, response, call),
  };
}

class BrowserLogin {
  readonly #options: LoginDependencies;

  constructor(options: LoginDependencies) {
    this.#options = options;
  }

  async byKey(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    this.#checkOrigin(request);
    const body = validate(keyLogin, parseJson(await readBody(request, call.route.bodyLimit)), 'body');
    const opened = await this.#logIn(request, call, body.key);
    if (opened === null)
      throw new AppError('invalid_api_key', 'The API key is malformed, unknown, expired or revoked.', {
        headers: { [credentialRefusedHeader]: 'true' },
      });
    sendJson(response, 200, showCurrent(opened.session), {
      ...{ 'cache-control': 'no-store', [requestIdHeader]: call.requestId },
      'set-cookie': this.#cookieOf(opened),
    });
  }

  async page(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    const session = await this.#sessionOf(request);
    const html = session === null ? loginPage({ returnTo: targetOf(request) }) : loggedInPage(session);
    sendPage(response, call.requestId, { status: 200, html });
  }

  async byForm(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    this.#checkOrigin(request);
    if (!isForm(request.headers['content-type']))
      throw new AppError('unsupported_media_type', 'The request body must be a form.');
    const fields = new URLSearchParams((await readBody(request, maxFormBytes)).toString());
    const opened = await this.#logIn(request, call, (fields.get('key') ?? '').trim());
    const target = targetOf(request);
    if (opened !== null) {
      sendBrowserTo(response, call.requestId, { location: target, cookies: [this.#cookieOf(opened)] });
      return;
    }
    const html = loginPage({
      returnTo: target,
      problem: 'The key is malformed, unknown, expired or revoked.',
    });
    sendPage(response, call.requestId, { status: 401, html, headers: { [credentialRefusedHeader]: 'true' } });
  }

  async logOut(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    this.#checkOrigin(request);
    await this.#endSessionOf(request, call);
    sendBrowserTo(response, call.requestId, { location: '/login', cookies: [this.#options.cookie.clear()] });
  }

  /** Null for a key that is not valid. A session that the browser has ends. */
  async #logIn(request: IncomingMessage, call: RawCall, text: string): Promise<OpenedSession | null> {
    const { logins, refusals } = this.#options;
    const key = await logins.find(text);
    if (key === null) {
      await refusals.count(clientIpOf(request));
      return null;
    }
    const opened = await logins.open(key, fromOf(request, call));
    await this.#endSessionOf(request, call);
    return opened;
  }

  async #endSessionOf(request: IncomingMessage, call: RawCall): Promise<void> {
    const session = await this.#sessionOf(request);
    if (session !== null) await this.#options.sessions.end(session, fromOf(request, call));
  }

  async #sessionOf({ headers }: IncomingMessage): Promise<FoundSession | null> {
    const { cookie, findSession } = this.#options;
    const [text, another] = cookie.valuesIn(headers.cookie);
    const hash = another === undefined ? tokenSha256Of(text) : null;
    return hash === null ? null : findSession(hash.toString('hex'));
  }

  /** Another site could log a person in as somebody else, or out. */
  #checkOrigin(request: IncomingMessage): void {
    if (isOwnPage(request, this.#options.publicUrl)) return;
    throw new AppError('cross_site_request', 'This request must come from a page of the gateway itself.');
  }

  #cookieOf({ token }: OpenedSession): string {
    return this.#options.cookie.set(token, sessionLife.hours * 3_600);
  }
}

function fromOf(request: IncomingMessage, { requestId }: RawCall): From {
  return { clientIp: clientIpOf(request), requestId };
}

function targetOf({ url = '' }: IncomingMessage): string {
  return returnTo(queryObject(url.split('?')[1] ?? '')['return_to'], afterLogin);
}
