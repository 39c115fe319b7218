import { networkOf } from '@gatehouse/kit/client-network';
import { tenantNotActive } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { newRandomToken, tokenSha256, tokenSha256Of } from '@gatehouse/kit/random-token';
import { loginMinutes } from '../bounds.ts';
import { nameOf, type Claims, type GrantProblem } from '../issuers/grants.ts';
import { IssuerError } from '../issuers/issuer-error.ts';
import { claimsIn, type ConfirmedLogin, type Issuer } from '../issuers/issuer.ts';
import type { Person } from '../keys/api-key.ts';
import type { OpenedSession } from './key-login.ts';
import type { Login, LoginSecrets, NewLogin } from './login.ts';
import { newLoginState, type LoginState } from './login-state.ts';
import { isMemberships, type Membership, type SettleMemberships } from './memberships.ts';
import type { From, PersonSession, Session } from './session.ts';

/** The end of a request of a browser that logs in by an issuer. */
export type LoginEnd =
  | { kind: 'opened'; opened: OpenedSession; person: Person }
  /** The person has several memberships; the browser keeps the token until it has chosen. */
  | { kind: 'choice'; memberships: readonly Membership[]; token: string }
  /** The request is not the one that this browser began, or was used, or the person has logged out meanwhile. */
  | { kind: 'over' }
  | { kind: 'refused'; error: IssuerError }
  | GrantProblem;

/** The network of a browser, and the hash of the person who has logged in there before, if any. */
export interface LoginSender {
  network: string;
  person: string | null;
}

export interface IssuerLoginDependencies {
  secrets: LoginSecrets;
  states: {
    /** False if the state was used, or has expired. */
    useState: (stateSha256: Buffer, expiresAt: Date) => Promise<boolean>;
    findByChoice: (issuer: string, choiceSha256: Buffer) => Promise<Login | null>;
  };
  logins: {
    /** When it was stored; null if the issuer has reported a logout of the person since it was begun. */
    insert: (login: NewLogin) => Promise<Date | null>;
    useChoice: (id: string) => Promise<boolean>;
    /** Ends the choices that a person hasn't made yet. */
    endChoices: (person: Person) => Promise<void>;
  };
  /** Runs work at an issuer in the turn of its sender, who may begin any number of logins. */
  inTurn: <Result>(issuer: string, sender: LoginSender, work: () => Promise<Result>) => Promise<Result>;
  settleMemberships: SettleMemberships;
  /** The time by the clock of the database. */
  now: () => Promise<Date>;
  /** Null if the issuer has reported a logout of the person since the login. */
  openSession: (session: PersonSession, from: From) => Promise<Session | null>;
}

/** Makes sessions of logins at OpenID Connect issuers. */
export class IssuerLogins {
  readonly #options: IssuerLoginDependencies;

  constructor(options: IssuerLoginDependencies) {
    this.#options = options;
  }

  /** The page of the issuer, and the values that the browser keeps meanwhile. Throws {@link IssuerError}. */
  async begin(issuer: Issuer, returnTo: string): Promise<{ location: string; state: LoginState }> {
    const state = newLoginState(issuer.settings.name, returnTo, await this.#options.now());
    return { location: await issuer.authorizationUrl(state), state };
  }

  /**
   * Finishes a login that this browser began, once. `query` is the answer of the issuer, `knownPerson` the hash of the
   * person who has logged in with this browser before. Throws {@link IssuerError} while the issuer is away,
   * `rate_limit_exceeded` if too many logins of the network wait, and of a known person, and the errors of
   * {@link IssuerLoginDependencies.openSession}.
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
    const memberships = await this.#membershipsOf(issuer, confirmed, confirmed.claims, from);
    if (!isMemberships(memberships)) return memberships;
    const [membership, another] = memberships;
    if (membership === undefined || another !== undefined) {
      const token = newRandomToken();
      const login = await this.#insert(issuer, confirmed, state, tokenSha256(token));
      return login === null ? { kind: 'over' } : { kind: 'choice', memberships, token };
    }
    const login = await this.#insert(issuer, confirmed, state, null);
    if (login === null) return { kind: 'over' };
    return this.#open(issuer, login, { membership, claims: confirmed.claims }, from);
  }

  /** Opens a session in one of the person's memberships: the id of a tenant, or '' for the platform. */
  async choose(issuer: Issuer, token: string, tenantId: string, from: From): Promise<LoginEnd> {
    const { states, logins, secrets } = this.#options;
    const choiceSha256 = tokenSha256Of(token);
    const login =
      choiceSha256 === null ? null : await states.findByChoice(issuer.settings.name, choiceSha256);
    if (login === null) return { kind: 'over' };
    const claims = claimsIn(secrets.open({ id: login.id, column: 'id_token' }, login.idToken));
    const memberships = await this.#membershipsOf(issuer, login, claims, from);
    if (!isMemberships(memberships)) return memberships;
    const membership = memberships.find((one) => (one.tenantId ?? '') === tenantId);
    if (membership === undefined || !(await logins.useChoice(login.id))) return { kind: 'over' };
    return this.#open(issuer, login, { membership, claims }, from);
  }

  /** The memberships of a person in active tenants, at least one. Throws `tenant_suspended` without one. */
  async #membershipsOf(
    { settings }: Issuer,
    person: Person,
    claims: Claims,
    from: From,
  ): Promise<readonly Membership[] | GrantProblem> {
    const memberships = await this.#options.settleMemberships(settings, person, claims, from);
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
    const { iss, sub, sid, idToken, refreshToken } = confirmed;
    const id = newId();
    const login = {
      ...{ id, issuer: settings.name, iss, sub, sid },
      idToken: secrets.seal({ id, column: 'id_token' }, idToken),
      refreshToken:
        refreshToken === null ? null : secrets.seal({ id, column: 'refresh_token' }, refreshToken),
    };
    const begunAt = new Date(expiresAt - loginMinutes * 60_000);
    const createdAt = await logins.insert({ ...login, choiceSha256, begunAt });
    return createdAt === null ? null : { ...login, createdAt };
  }

  async #open(
    { settings }: Issuer,
    { id: loginId, iss, sub, sid, createdAt: loggedInAt }: Login,
    { membership, claims }: { membership: Membership; claims: Claims },
    from: From,
  ): Promise<LoginEnd> {
    const token = newRandomToken();
    const { tenantId, role, scopes, userId } = membership;
    const name = nameOf(claims);
    const session = await this.#options.openSession(
      {
        ...{ id: newId(), tokenSha256: tokenSha256(token), tenantId, name, role, scopes, userId, loginId },
        ...{ openedBy: 'issuer', person: { iss, sub }, sid, loggedInAt },
        ...{ keyName: `${name} (${settings.name})`, createdBy: `login ${settings.name}` },
      },
      from,
    );
    if (session === null) return { kind: 'over' };
    const opened = { session: { ...session, tenantSlug: membership.tenant }, token };
    return { kind: 'opened', opened, person: { iss, sub } };
  }
}

/** An issuer that is away says nothing about the person. */
function refusedOnly(error: unknown): IssuerError {
  if (error instanceof IssuerError && error.failure === 'refused') return error;
  throw error;
}
