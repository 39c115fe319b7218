import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { revalidationsAtOnce, revalidationMs, overdueAtOnce } from '../bounds.ts';
import type { Claims } from '../issuers/claim-path.ts';
import { groupsIn, isUnread, type UnreadGroups } from '../issuers/grants.ts';
import { describeFailure, IssuerError } from '../issuers/issuer-error.ts';
import type { Issuer } from '../issuers/issuer.ts';
import type { Person, Rights } from '../keys/api-key.ts';
import type { RevalidationOutcome } from './issuer-metrics.ts';
import type { LoginSecrets, LoginToRevalidate } from './login.ts';
import type { RevalidatedUser } from '../users/login-user-store.ts';
import { isMemberships, type Membership, type SettleMemberships } from './memberships.ts';
import type { RevalidationSystemStore } from './revalidation-system-store.ts';
import type { SessionChangeStore } from './session-change-store.ts';
import type { From } from './session.ts';
import type { TokenRevocations } from './token-revocations-job.ts';
import type { ReportUnreadGroups } from './unread-groups-system-store.ts';

export interface RevalidationDependencies {
  issuers: ReadonlyMap<string, Issuer>;
  secrets: LoginSecrets;
  settleMemberships: SettleMemberships;
  revocations: TokenRevocations;
  logins: RevalidationSystemStore;
  sessions: SessionChangeStore;
  /** Revokes the keys of a person with other rights than these. */
  keepOnly: (person: Person, rights: readonly Rights[], from: From) => Promise<void>;
  /** Whether a person has keys with other rights than these. */
  hasKeysBeyond: (person: Person, rights: readonly Rights[]) => Promise<boolean>;
  reportUnread: ReportUnreadGroups;
  count: (issuer: string, outcome: RevalidationOutcome) => void;
  log: Logger;
}

/** Tokens valid at the issuer after a renewal. The ID token is null where it confirms no more than the login. */
interface Renewed {
  refreshToken: string;
  idToken: string | null;
  accessToken: string;
}

/** No client caused a revalidation. */
const from = { clientIp: null, requestId: null };

/**
 * Revalidates OIDC sessions and device keys with their issuer. Each issuer has its own loop, so a hanging issuer delays no
 * other. An unavailable issuer changes nothing until the grace is over.
 */
export class SessionRevalidation {
  readonly #options: RevalidationDependencies;
  readonly #loops: PeriodicWork[];

  constructor(options: RevalidationDependencies) {
    this.#options = options;
    const { issuers, log } = options;
    this.#loops = [...issuers.values()].map(
      (issuer) =>
        new PeriodicWork({
          ...{ task: `revalidate sessions of ${issuer.settings.name}`, log, everyMs: revalidationMs },
          round: () => this.#round(issuer),
        }),
    );
    const gone = { task: 'end sessions of issuers that are not set', log, everyMs: revalidationMs };
    this.#loops.push(new PeriodicWork({ ...gone, round: () => this.#endOfGone() }));
  }

  start(): void {
    for (const loop of this.#loops) loop.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }

  async #round(issuer: Issuer): Promise<boolean> {
    const { name } = issuer.settings;
    const claimed = await this.#options.logins.claim(name, revalidationsAtOnce);
    const inUse = claimed.filter(({ isInUse }) => isInUse);
    if (inUse.length < claimed.length) this.#options.revocations.begin(issuer);
    const looked = await Promise.all(inUse.map((login) => this.#revalidate(issuer, login)));
    // One login may fail for a reason of its own, and then ends alone.
    const isAway = looked.length > 0 && !looked.includes(true);
    return isAway ? this.#endOverdue(name) : claimed.length === revalidationsAtOnce;
  }

  /** False if the revalidation failed without a statement about the member. It is due again when the lease ends. */
  async #revalidate(issuer: Issuer, login: LoginToRevalidate): Promise<boolean> {
    const { log, count } = this.#options;
    const { name } = issuer.settings;
    const fields = { issuer: name, login: login.id };
    let renewed: Renewed | null = null;
    try {
      renewed = await this.#renew(issuer, login);
      if (renewed !== null) await this.#settle(issuer, login, renewed);
      count(name, 'confirmed');
      return true;
    } catch (error) {
      const reason = error instanceof IssuerError ? { reason: describeFailure(error) } : { err: error };
      if (!(error instanceof IssuerError) || error.failure === 'away') {
        log.warn({ ...fields, ...reason }, 'failed to revalidate a session');
        count(name, 'failed');
        if (login.isOverdue) await this.#end([login.id], name);
        return false;
      }
      log.info({ ...fields, ...reason }, 'an issuer no longer confirms a login');
      count(name, 'refused');
    }
    await this.#endRefused(issuer, login, renewed);
    return true;
  }

  /** In an order in which the next revalidation continues after a crash. */
  async #endRefused(issuer: Issuer, login: LoginToRevalidate, renewed: Renewed | null): Promise<void> {
    const { logins, sessions, keepOnly, revocations } = this.#options;
    // A logout has revoked the token meanwhile: the issuer says nothing about the person.
    if (!(await logins.holdsLease(login))) return;
    await sessions.endOfLogins([login.id], from);
    if (!(await logins.isConfirmedElsewhere(login)))
      await keepOnly({ iss: login.iss, sub: login.sub }, [], from);
    // The issuer still takes a renewed token: its ID token was refused here.
    await logins.endRevalidations([login.id], { revokes: renewed !== null });
    revocations.begin(issuer);
  }

  /** Gets new tokens and stores the refresh token for the next revalidation. Null if a logout came first. */
  async #renew(issuer: Issuer, login: LoginToRevalidate): Promise<Renewed | null> {
    const { secrets, logins, revocations } = this.#options;
    const { id } = login;
    const old = secrets.open({ id, column: 'refresh_token' }, login.refreshToken);
    const { refreshToken, ...others } = await issuer.renew({ iss: login.iss, refreshToken: old });
    // First of all: the issuer takes the old one no longer.
    if (
      refreshToken !== null &&
      !(await logins.keepRefreshToken(login, secrets.seal({ id, column: 'refresh_token' }, refreshToken)))
    ) {
      revocations.revokeLate(issuer, login, refreshToken);
      return null;
    }
    return { refreshToken: refreshToken ?? old, ...others };
  }

  /**
   * Gives the person the rights of the new claims. Unreadable groups leave the last ones for a while. So does user info
   * that fails, within the grace: it throws `away` before rights end that it might give.
   */
  async #settle(issuer: Issuer, login: LoginToRevalidate, renewed: Renewed): Promise<void> {
    const { secrets, logins, settleMemberships, hasKeysBeyond } = this.#options;
    const { id, iss, sub } = login;
    const { idToken } = renewed;
    const confirmed = await issuer.claimsOf(renewed, sub);
    if (confirmed !== null) {
      const { claims, userInfoFailure } = confirmed;
      const failure = login.isOverdue ? null : userInfoFailure;
      const read = { claims, isWhole: failure === null };
      const settled = await settleMemberships(issuer.settings, { iss, sub }, read, from);
      if (!isMemberships(settled) && isUnread(settled)) {
        await this.#keepLast(issuer, login, settled);
        return;
      }
      if (failure !== null && (await hasKeysBeyond({ iss, sub }, isMemberships(settled) ? settled : [])))
        throw failure;
      if (userInfoFailure === null && isMemberships(settled))
        await this.#options.sessions.noteRevalidation(usersOf(settled, claims, issuer));
    }
    await logins.finish(login, idToken === null ? null : secrets.seal({ id, column: 'id_token' }, idToken));
  }

  /** Goes on with the last readable groups, as long as they may count. */
  async #keepLast(issuer: Issuer, login: LoginToRevalidate, problem: UnreadGroups): Promise<void> {
    const { logins, reportUnread, sessions, revocations, log } = this.#options;
    const { name } = issuer.settings;
    log.warn(
      { issuer: name, login: login.id, problem: problem.kind },
      'the groups of a person are unreadable',
    );
    await logins.finish(login, null);
    await reportUnread(name, problem);
    if (!login.hasOldGroups) return;
    await sessions.endOfLogins([login.id], from);
    await logins.endRevalidations([login.id], { revokes: true });
    revocations.begin(issuer);
  }

  async #endOfGone(): Promise<boolean> {
    const { logins, issuers } = this.#options;
    const gone = (await logins.findIssuers()).filter((name) => !issuers.has(name));
    let isMore = false;
    for (const name of gone) isMore = (await this.#endOverdue(name)) || isMore;
    return isMore;
  }

  /** True when there may be more. */
  async #endOverdue(issuer: string): Promise<boolean> {
    const { logins } = this.#options;
    const overdue = await logins.findOverdue(issuer, overdueAtOnce);
    if (overdue.length > 0) await this.#end(overdue, issuer);
    return overdue.length === overdueAtOnce;
  }

  async #end(overdue: readonly string[], issuer: string): Promise<void> {
    const { logins, sessions, log } = this.#options;
    log.warn({ issuer, logins: overdue.length }, 'ended sessions of an issuer that is away');
    await sessions.endOfLogins(overdue, from);
    await logins.endRevalidations(overdue, { revokes: true });
  }
}

/** The users of a person's memberships, with the groups of the claims. */
function usersOf(
  memberships: readonly Membership[],
  claims: Claims,
  { settings }: Issuer,
): RevalidatedUser[] {
  const groups = groupsIn(claims, settings);
  return memberships.flatMap(({ tenantId, tenantStatus, userId }) =>
    tenantId === null || userId === null || tenantStatus !== 'active' ? [] : [{ tenantId, userId, groups }],
  );
}
