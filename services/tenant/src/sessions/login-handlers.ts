import type { IncomingMessage, ServerResponse } from 'node:http';
import { keyLogin } from '@gatehouse/contract/sessions';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { parseJson, readBody } from '@gatehouse/http/body';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { credentialRefusedHeader } from '@gatehouse/http/credential-refused';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { AppError } from '@gatehouse/kit/errors';
import { validate } from '@gatehouse/kit/validate';
import { sendBrowserTo, sendPage } from '@gatehouse/public-access/page';
import type { Refusals } from '@gatehouse/public-access/refusals';
import { formOf, fromOf, targetOf, type BrowserSessions } from './browser-session-handlers.ts';
import type { IssuerLogouts } from './backchannel-logout-handlers.ts';
import type { KeyLogin, OpenedSession } from './key-login.ts';
import { loggedInPage, loggedOutPage, loginPage } from './login-page.ts';
import { showCurrent } from './session.ts';

export interface LoginDependencies {
  logins: KeyLogin;
  /** The names of the issuers for logins. */
  issuers: readonly string[];
  issuerLogouts: IssuerLogouts;
  browsers: BrowserSessions;
  refusals: Refusals;
}

const refusedKey = 'The API key is malformed, unknown, expired or revoked, or that of a command line.';

/** `/login`, `/login/key` and `/logout`: browsers with and without a session. */
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
    const { browsers } = this.#options;
    browsers.checkOrigin(request);
    const body = validate(keyLogin, parseJson(await readBody(request, call.route.bodyLimit)), 'body');
    const opened = await this.#logIn(request, call, body.key);
    if (opened === null)
      throw new AppError('invalid_api_key', refusedKey, { headers: { [credentialRefusedHeader]: 'true' } });
    sendJson(response, 200, showCurrent(opened.session), {
      [requestIdHeader]: call.requestId,
      'set-cookie': browsers.cookieOf(opened),
    });
  }

  async page(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    const { browsers, issuers } = this.#options;
    const session = await browsers.find(request);
    const target = targetOf(request);
    // Not by a redirect: a page whose calls are refused for another reason comes back here.
    const html = session === null ? loginPage({ returnTo: target, issuers }) : loggedInPage(session, target);
    sendPage(response, call.requestId, { status: 200, html });
  }

  async byForm(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    const { browsers, issuers } = this.#options;
    browsers.checkOrigin(request);
    const fields = await formOf(request);
    const opened = await this.#logIn(request, call, (fields.get('key') ?? '').trim());
    const target = targetOf(request);
    if (opened !== null) {
      sendBrowserTo(response, call.requestId, { location: target, cookies: [browsers.cookieOf(opened)] });
      return;
    }
    const html = loginPage({
      ...{ returnTo: target, issuers },
      problem: refusedKey,
    });
    sendPage(response, call.requestId, { status: 401, html, headers: { [credentialRefusedHeader]: 'true' } });
  }

  async logOut(request: IncomingMessage, response: ServerResponse, call: RawCall): Promise<void> {
    const { browsers, issuerLogouts } = this.#options;
    browsers.checkOrigin(request);
    const ended = await browsers.end(request, call);
    const page = ended === null ? null : await issuerLogouts.pageOf(ended);
    const cookie = browsers.clearedCookie();
    if (page === null) {
      sendBrowserTo(response, call.requestId, { location: '/login', cookies: [cookie] });
    } else {
      // Browsers don't let a form of a page lead to another host by a redirect.
      const headers = { 'set-cookie': cookie, refresh: `0; url=${page.url}` };
      sendPage(response, call.requestId, { status: 200, html: loggedOutPage(page), headers });
    }
    if (ended !== null) issuerLogouts.forget(ended);
  }

  /** Null for an invalid key. The browser's earlier session ends. */
  async #logIn(request: IncomingMessage, call: RawCall, text: string): Promise<OpenedSession | null> {
    const { logins, refusals, browsers } = this.#options;
    const key = await logins.find(text);
    if (key === null) {
      await refusals.count('key', clientIpOf(request));
      return null;
    }
    const opened = await logins.open(key, fromOf(request, call));
    await browsers.end(request, call);
    return opened;
  }
}
