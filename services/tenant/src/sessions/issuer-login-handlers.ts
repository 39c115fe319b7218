import { networkOf } from '@gatehouse/kit/client-network';
import { tenantNotActive, AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { newRandomToken, tokenSha256, tokenSha256Of } from '@gatehouse/kit/random-token';
import { loginMinutes } from '../bounds.ts';
import type { Claims } from '../issuers/claim-path.ts';
import { groupsIn, nameOf, type GrantProblem } from '../issuers/grants.ts';
import { IssuerError, describeFailure } from '../issuers/issuer-error.ts';
import { claimsIn, type ConfirmedLogin, type Issuer } from '../issuers/issuer.ts';
import { missingClaims } from '../issuers/user-info.ts';
import type { Person } from '../keys/api-key.ts';
import type { OpenedSession } from './key-login.ts';
import type { Login, LoginSecrets } from './login.ts';
import { newLoginState, type LoginState, type LoginStates } from './login-state.ts';
import { isMemberships, type Membership, type ReadClaims, type SettleMemberships } from './memberships.ts';
import type { From } from './session.ts';
import type { LoginStateSystemStore } from './login-state-system-store.ts';
import type { LoginSystemStore } from './login-system-store.ts';
import type { SessionChangeStore } from './session-change-store.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { credentialRefusedHeader } from '@gatehouse/http/credential-refused';
import type { HostCookie } from '@gatehouse/kit/host-cookie';
import type { Logger } from '@gatehouse/kit/log';
import { queryObject } from '@gatehouse/kit/validate';
import { sendBrowserTo, sendPage, type SentPage } from '@gatehouse/public-access/page';
import type { Refusals } from '@gatehouse/public-access/refusals';
import { sameText } from '@gatehouse/public-access/same-text';
import {
  afterLogin,
  formOf,
  fromOf,
  queryOf,
  targetOf,
  type BrowserSessions,
} from './browser-session-handlers.ts';
import { choicePage, failedPage, problemPage } from './login-page.ts';
import type { KnownBrowsers } from './known-browsers.ts';

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

  /** The values of the login begun by this browser at this issuer, if the answer is to it. */
  #stateOf(request: IncomingMessage, { settings }: Issuer): LoginState | null {
    const state = this.#options.states.open(this.#cookieOf(request));
    const presentedState = queryObject(queryOf(request))['state'] ?? '';
    const isOwn = state !== null && state.issuer === settings.name && sameText(presentedState, state.state);
    return isOwn ? state : null;
  }

  /** Two cookies of the name count as no cookie: one of them is not of this gateway. */
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
        // The browser's session ends: no login continues a session that another person may have set.
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

/** The end of a browser's request in a login by an issuer. */
type LoginEnd =
  | { kind: 'opened'; opened: OpenedSession; person: Person }
  /** The person has several memberships; the browser keeps the token until it has chosen. */
  | { kind: 'choice'; memberships: readonly Membership[]; token: string }
  /** The browser began another request, this one was used, or the person has logged out meanwhile. */
  | { kind: 'over' }
  | { kind: 'refused'; error: IssuerError }
  | GrantProblem;

/** The network of a browser, and the hash of the person who has logged in there before, if any. */
interface LoginSender {
  network: string;
  person: string | null;
}

export interface IssuerLoginDependencies {
  secrets: LoginSecrets;
  states: LoginStateSystemStore;
  logins: LoginSystemStore;
  sessions: SessionChangeStore;
  /** Runs work at an issuer in the turn of its sender, who may begin any number of logins. */
  inTurn: <Result>(issuer: string, sender: LoginSender, work: () => Promise<Result>) => Promise<Result>;
  settleMemberships: SettleMemberships;
  log: Logger;
}

/** Makes sessions of logins at OpenID Connect issuers. */
export class IssuerLogins {
  readonly #options: IssuerLoginDependencies;

  constructor(options: IssuerLoginDependencies) {
    this.#options = options;
  }

  /** The page of the issuer, and the values for the browser to keep meanwhile. Throws {@link IssuerError}. */
  async begin(issuer: Issuer, returnTo: string): Promise<{ location: string; state: LoginState }> {
    const state = newLoginState(issuer.settings.name, returnTo, await this.#options.states.now());
    return { location: await issuer.authorizationUrl(state), state };
  }

  /**
   * Finishes a login begun by this browser, once. `query` is the answer of the issuer, `knownPerson` the hash of the
   * person who has logged in with this browser before. Throws the errors of {@link SessionChangeStore.openForPerson},
   * {@link IssuerError} while the issuer is away, and `rate_limit_exceeded` if too many logins of the network wait, and
   * of a known person.
   */
  async finish(
    issuer: Issuer,
    { state, query, knownPerson }: { state: LoginState; query: string; knownPerson: string | null },
    from: From,
  ): Promise<LoginEnd> {
    const sender = { network: networkOf(from.clientIp ?? ''), person: knownPerson };
    const work = (): Promise<LoginEnd> => this.#finish(issuer, state, query, from);
    return this.#options.inTurn(issuer.settings.name, sender, work);
  }

  async #finish(issuer: Issuer, state: LoginState, query: string, from: From): Promise<LoginEnd> {
    const { states, logins } = this.#options;
    if (!(await states.useState(tokenSha256(state.state), new Date(state.expiresAt))))
      return { kind: 'over' };
    const confirmed = await issuer.finish(query, state).catch(refusedOnly);
    if (confirmed instanceof IssuerError) return { kind: 'refused', error: confirmed };
    // Their claims are older than these.
    await logins.endChoices(confirmed);
    const { claims, userInfoFailure: failure } = confirmed;
    if (failure !== null) {
      const fields = { issuer: issuer.settings.name, reason: describeFailure(failure) };
      this.#options.log.warn(fields, 'failed to get the user info of a login');
    }
    const read = { claims, isWhole: failure === null };
    const memberships = await this.#membershipsOf(issuer, confirmed, read, from);
    if (!isMemberships(memberships)) return memberships;
    const [membership, another] = memberships;
    if (membership === undefined || another !== undefined) {
      const token = newRandomToken();
      const login = await this.#insert(issuer, confirmed, state, tokenSha256(token));
      return login === null ? { kind: 'over' } : { kind: 'choice', memberships, token };
    }
    const login = await this.#insert(issuer, confirmed, state, null);
    if (login === null) return { kind: 'over' };
    return this.#open(issuer, login, { membership, read }, from);
  }

  /** Opens a session in one of the person's memberships: the id of a tenant, or '' for the platform. */
  async choose(issuer: Issuer, token: string, tenantId: string, from: From): Promise<LoginEnd> {
    const { states, logins } = this.#options;
    const choiceSha256 = tokenSha256Of(token);
    const login =
      choiceSha256 === null ? null : await states.findByChoice(issuer.settings.name, choiceSha256);
    if (login === null) return { kind: 'over' };
    const claims = this.#claimsOf(login);
    // User info may have failed; whole claims have revoked what they can when the choice began.
    const isWhole = missingClaims(claims, issuer.settings).length === 0;
    const read = { claims, isWhole };
    const memberships = await this.#membershipsOf(issuer, login, read, from);
    if (!isMemberships(memberships)) return memberships;
    const membership = memberships.find((one) => (one.tenantId ?? '') === tenantId);
    if (membership === undefined || !(await logins.useChoice(login.id))) return { kind: 'over' };
    return this.#open(issuer, login, { membership, read }, from);
  }

  /** The claims with which a person began to choose. */
  #claimsOf({ id, idToken, userInfo }: Login): Claims {
    const { secrets } = this.#options;
    const claims = claimsIn(secrets.open({ id, column: 'id_token' }, idToken));
    if (userInfo === null) return claims;
    return { ...claims, ...(JSON.parse(secrets.open({ id, column: 'user_info' }, userInfo)) as Claims) };
  }

  /** The memberships of a person in active tenants, at least one. Throws `tenant_suspended` without one. */
  async #membershipsOf(
    { settings }: Issuer,
    person: Person,
    read: ReadClaims,
    from: From,
  ): Promise<readonly Membership[] | GrantProblem> {
    const memberships = await this.#options.settleMemberships(settings, person, read, from);
    if (!isMemberships(memberships)) return memberships;
    const active = memberships.filter(({ tenantStatus }) => (tenantStatus ?? 'active') === 'active');
    if (active.length === 0) throw tenantNotActive(memberships[0]?.tenantStatus ?? 'suspended');
    return active;
  }

  async #insert(
    { settings }: Issuer,
    confirmed: ConfirmedLogin,
    { expiresAt }: LoginState,
    choiceSha256: Buffer | null,
  ): Promise<Login | null> {
    const { secrets, logins } = this.#options;
    const { iss, sub, sid, idToken, refreshToken, userInfo } = confirmed;
    const isNeeded = choiceSha256 !== null && Object.keys(userInfo).length > 0;
    const id = newId();
    const login = {
      ...{ id, issuer: settings.name, iss, sub, sid },
      idToken: secrets.seal({ id, column: 'id_token' }, idToken),
      refreshToken:
        refreshToken === null ? null : secrets.seal({ id, column: 'refresh_token' }, refreshToken),
      userInfo: isNeeded ? secrets.seal({ id, column: 'user_info' }, JSON.stringify(userInfo)) : null,
    };
    const begunAt = new Date(expiresAt - loginMinutes * 60_000);
    const createdAt = await logins.insert({ ...login, choiceSha256, begunAt });
    return createdAt === null ? null : { ...login, createdAt };
  }

  async #open(
    { settings }: Issuer,
    { id: loginId, iss, sub, sid, createdAt: loggedInAt }: Login,
    { membership, read }: { membership: Membership; read: ReadClaims },
    from: From,
  ): Promise<LoginEnd> {
    const { claims, isWhole } = read;
    const token = newRandomToken();
    const { tenantId, role, scopes, userId, toolsets, clientSettings } = membership;
    const name = nameOf(claims);
    const session = await this.#options.sessions.openForPerson(
      {
        ...{ id: newId(), tokenSha256: tokenSha256(token), tenantId, name, role, scopes, userId, loginId },
        ...{ openedBy: 'issuer', person: { iss, sub }, sid, loggedInAt },
        programRights: { toolsets, clientSettings },
        ...{ keyName: `${name} (${settings.name})`, createdBy: `login ${settings.name}` },
        // The claim of groups may be missing where user info has failed.
        groups: isWhole ? groupsIn(claims, settings) : null,
      },
      from,
    );
    if (session === null) return { kind: 'over' };
    const opened = { session: { ...session, tenantSlug: membership.tenant }, token };
    return { kind: 'opened', opened, person: { iss, sub } };
  }
}

/** An unavailable issuer says nothing about the person. */
function refusedOnly(error: unknown): IssuerError {
  if (error instanceof IssuerError && error.failure === 'refused') return error;
  throw error;
}
