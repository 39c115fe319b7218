import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { credentialRefusedHeader } from '@gatehouse/http/credential-refused';
import { AppError } from '@gatehouse/kit/errors';
import type { HostCookie } from '@gatehouse/kit/host-cookie';
import type { Logger } from '@gatehouse/kit/log';
import { queryObject } from '@gatehouse/kit/validate';
import { sendBrowserTo, sendPage, type SentPage } from '@gatehouse/public-access/page';
import type { Refusals } from '@gatehouse/public-access/refusals';
import { sameText } from '@gatehouse/public-access/same-text';
import { loginMinutes } from '../bounds.ts';
import { describeFailure, IssuerError } from '../issuers/issuer-error.ts';
import type { Issuer } from '../issuers/issuer.ts';
import {
  afterLogin,
  formOf,
  fromOf,
  queryOf,
  targetOf,
  type BrowserSessions,
} from './browser-session-handlers.ts';
import { choicePage, failedPage, problemPage } from './login-page.ts';
import type { IssuerLogins, LoginEnd } from './issuer-login.ts';
import type { KnownBrowsers } from './known-browsers.ts';
import { type LoginState, type LoginStates } from './login-state.ts';

export interface IssuerLoginHandlerDependencies {
  issuers: ReadonlyMap<string, Issuer>;
  logins: IssuerLogins;
  states: LoginStates;
  browsers: BrowserSessions;
  refusals: Refusals;
  /** Keeps the values of a login, and the token of a choice after it. */
  cookie: HostCookie;
  knownBrowsers: KnownBrowsers;
  log: Logger;
}

type Step = (
  request: IncomingMessage,
  response: ServerResponse,
  call: RawCall,
  issuer: Issuer,
) => Promise<void>;

/** `/login/oidc/{issuer}*`: logins by OpenID Connect issuers. Every end is a page. */
export function issuerLoginHandlers(options: IssuerLoginHandlerDependencies): Record<string, RawHandler> {
  const browser = new BrowserIssuerLogin(options);
  return {
    'login.oidc': browser.step((...step) => browser.begin(...step)),
    'login.oidc.callback': browser.step((...step) => browser.callback(...step)),
    'login.oidc.form': browser.step((...step) => browser.choose(...step)),
  };
}

class BrowserIssuerLogin {
  readonly #options: IssuerLoginHandlerDependencies;

  constructor(options: IssuerLoginHandlerDependencies) {
    this.#options = options;
  }

  /** A handler of a step with the issuer of its path. Its errors are pages, as people see them. */
  step(handle: Step): RawHandler {
    return async (request, response, call) => {
      const issuer = this.#options.issuers.get(call.params['issuer'] ?? '');
      if (issuer === undefined) throw new AppError('not_found', 'There is no such issuer.');
      try {
        await handle(request, response, call, issuer);
      } catch (error) {
        sendPage(response, call.requestId, this.#failure(error, issuer, call));
      }
    };
  }

  async begin(...[request, response, call, issuer]: Parameters<Step>): Promise<void> {
    const { logins, states, cookie } = this.#options;
    const { location, state } = await logins.begin(issuer, targetOf(request));
    const value = states.seal(state, afterLogin);
    sendBrowserTo(response, call.requestId, { location, cookies: [cookie.set(value, loginMinutes * 60)] });
  }

  async callback(...[request, response, call, issuer]: Parameters<Step>): Promise<void> {
    const { logins, knownBrowsers } = this.#options;
    const from = fromOf(request, call);
    const [query, knownPerson] = [queryOf(request), knownBrowsers.personIn(request.headers.cookie)];
    // An answer without a seal of the gateway costs neither a row nor a call of the issuer, and no count.
    const state = this.#stateOf(request, issuer);
    const end: LoginEnd =
      state === null ? { kind: 'over' } : await logins.finish(issuer, { state, query, knownPerson }, from);
    await this.#answer(request, response, call, { issuer, end, target: state?.returnTo ?? afterLogin });
  }

  async choose(...[request, response, call, issuer]: Parameters<Step>): Promise<void> {
    const { browsers, logins, refusals } = this.#options;
    browsers.checkOrigin(request);
    const tenant = (await formOf(request)).get('tenant') ?? '';
    const from = fromOf(request, call);
    const end = await logins.choose(issuer, this.#cookieOf(request), tenant, from);
    if (end.kind === 'over') await refusals.count('choice', from.clientIp);
    await this.#answer(request, response, call, { issuer, end, target: targetOf(request) });
  }

  /** The values of the login that this browser began at this issuer, if the answer is to it. */
  #stateOf(request: IncomingMessage, { settings }: Issuer): LoginState | null {
    const state = this.#options.states.open(this.#cookieOf(request));
    const presentedState = queryObject(queryOf(request))['state'] ?? '';
    const isOwn = state !== null && state.issuer === settings.name && sameText(presentedState, state.state);
    return isOwn ? state : null;
  }

  /** Two cookies of the name are none: one of them is not of this gateway. */
  #cookieOf({ headers }: IncomingMessage): string {
    const [value = '', another] = this.#options.cookie.valuesIn(headers.cookie);
    return another === undefined ? value : '';
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    call: RawCall,
    { issuer, end, target }: { issuer: Issuer; end: LoginEnd; target: string },
  ): Promise<void> {
    const { browsers, cookie, knownBrowsers } = this.#options;
    const { name } = issuer.settings;
    switch (end.kind) {
      case 'opened': {
        // A session that the browser has ends: no login continues one that another person may have set.
        await browsers.end(request, call);
        const cookies = [browsers.cookieOf(end.opened), knownBrowsers.cookieOf(end.person), cookie.clear()];
        sendBrowserTo(response, call.requestId, { location: target, cookies });
        return;
      }
      case 'choice': {
        const html = choicePage(name, end.memberships, target);
        const headers = { 'set-cookie': cookie.set(end.token, loginMinutes * 60) };
        sendPage(response, call.requestId, { status: 200, html, headers });
        return;
      }
      case 'over': {
        const text = `This login was used, was begun in another browser, is older than ${loginMinutes} minutes, or was ended by a logout.`;
        const html = failedPage('This login is over', text);
        sendPage(response, call.requestId, { status: 400, html });
        return;
      }
      case 'refused': {
        this.#logFailure(end.error, issuer, call);
        const html = failedPage('Not logged in', `${name} did not confirm the login.`);
        const headers = { 'set-cookie': cookie.clear(), [credentialRefusedHeader]: 'true' };
        sendPage(response, call.requestId, { status: 401, html, headers });
        return;
      }
      default:
        sendPage(response, call.requestId, problemPage(name, end));
    }
  }

  #failure(error: unknown, issuer: Issuer, call: RawCall): SentPage {
    if (error instanceof IssuerError) {
      this.#logFailure(error, issuer, call);
      const { name } = issuer.settings;
      const html = failedPage(
        `${name} is unavailable`,
        `${name} can't log you in now. Try again in a minute.`,
      );
      return { status: 503, html, headers: { 'retry-after': '30' } };
    }
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    return { status: error.status, html: failedPage('Not logged in', error.message), headers: error.headers };
  }

  #logFailure(error: IssuerError, { settings }: Issuer, { requestId }: RawCall): void {
    const fields = { issuer: settings.name, request_id: requestId, reason: describeFailure(error) };
    this.#options.log.warn(fields, 'an issuer did not log a person in');
  }
}
