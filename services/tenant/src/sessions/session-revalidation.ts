import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { isUnread, type UnreadGroups } from '../issuers/grants.ts';
import { describeFailure, IssuerError } from '../issuers/issuer-error.ts';
import type { Issuer } from '../issuers/issuer.ts';
import type { Person } from '../keys/api-key.ts';
import type { LookOutcome } from './issuer-metrics.ts';
import type { LoginSecrets, LoginToLookAt } from './login.ts';
import { isPlaces, type PersonPlaces } from './memberships.ts';
import type { TokenRevocations } from './token-revocations.ts';

export interface LoginLooksDependencies {
  issuers: ReadonlyMap<string, Issuer>;
  secrets: LoginSecrets;
  places: PersonPlaces;
  revocations: TokenRevocations;
  logins: {
    /** Takes logins of an issuer whose look is due, so that no other replica looks at them for two minutes. */
    claim: (issuer: string, limit: number) => Promise<LoginToLookAt[]>;
    /** Replaces the refresh token. False if another replica has taken the login over. */
    keepRefreshToken: (login: LoginToLookAt, sealed: Buffer) => Promise<boolean>;
    /** Whether the look was not made void by another one, or by a logout. */
    isClaimed: (login: LoginToLookAt) => Promise<boolean>;
    /** Ends the look. The sealed ID token is null if the issuer sent none. */
    finish: (login: LoginToLookAt, idToken: Buffer | null) => Promise<void>;
    /** Logins under looks that the issuer has not confirmed for longer than the grace. */
    findOverdue: (issuer: string, limit: number) => Promise<string[]>;
    isConfirmedElsewhere: (login: LoginToLookAt) => Promise<boolean>;
    /** Ends the looks at logins. `revokes`: whether their tokens wait to be revoked. */
    endLooks: (ids: readonly string[], options: { revokes: boolean }) => Promise<void>;
    /** The names of issuers that logins have. */
    findIssuers: () => Promise<string[]>;
  };
  /** Ends the sessions of logins. */
  endSessions: (loginIds: readonly string[]) => Promise<void>;
  /** Revokes the keys of the logins of a person, and those of programs with them. */
  revokeKeys: (person: Person) => Promise<void>;
  /** Raises the event of groups that can't be read. */
  reportUnread: (issuer: string, problem: UnreadGroups) => Promise<void>;
  count: (issuer: string, outcome: LookOutcome) => void;
  log: Logger;
}

/**
 * The calls of one issuer under way, on one replica. One round takes 0.1 s and the issuer's answer, so that a replica
 * looks at 5,000 sessions in twelve minutes if answers take half a second.
 */
const atOnce = 4;
const everyMs = 5_000;
const overdueAtOnce = 200;
/** Tokens that the issuer takes after a renewal. The ID token is null where it confirms no more than the login. */
interface Renewed {
  refreshToken: string;
  idToken: string | null;
}

/** No client caused a look. */
const from = { clientIp: null, requestId: null };

/**
 * Asks issuers again about people who have open sessions, or have given keys to programs. Each issuer has a loop of its
 * own, so that one that hangs holds up no other. An issuer that is away changes nothing until the grace is over.
 */
export class LoginLooks {
  readonly #options: LoginLooksDependencies;
  readonly #loops: PeriodicWork[];

  constructor(options: LoginLooksDependencies) {
    this.#options = options;
    const { issuers, log } = options;
    this.#loops = [...issuers.values()].map(
      (issuer) =>
        new PeriodicWork({
          ...{ task: `look at logins of ${issuer.settings.name}`, log, everyMs },
          round: () => this.#round(issuer),
        }),
    );
    const gone = { task: 'end sessions of issuers that are not set', log, everyMs };
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
    const claimed = await this.#options.logins.claim(name, atOnce);
    const inUse = claimed.filter(({ isInUse }) => isInUse);
    if (inUse.length < claimed.length) this.#options.revocations.begin(issuer);
    const looked = await Promise.all(inUse.map((login) => this.#look(issuer, login)));
    // One login may fail for a reason of its own, and then ends alone.
    const isAway = looked.length > 0 && !looked.includes(true);
    return isAway ? this.#endOverdue(name) : claimed.length === atOnce;
  }

  /** False for a look that failed and says nothing about the person. It is due again when the claim ends. */
  async #look(issuer: Issuer, login: LoginToLookAt): Promise<boolean> {
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
        log.warn({ ...fields, ...reason }, 'failed to look at a login');
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

  /** In an order in which the next look continues after a crash. */
  async #endRefused(issuer: Issuer, login: LoginToLookAt, renewed: Renewed | null): Promise<void> {
    const { logins, endSessions, revokeKeys, revocations } = this.#options;
    // A logout has revoked the token meanwhile: the issuer says nothing about the person.
    if (!(await logins.isClaimed(login))) return;
    await endSessions([login.id]);
    if (!(await logins.isConfirmedElsewhere(login))) await revokeKeys({ iss: login.iss, sub: login.sub });
    // The issuer still takes a token that it has renewed: its ID token was refused here.
    await logins.endLooks([login.id], { revokes: renewed !== null });
    revocations.begin(issuer);
  }

  /** Gets new tokens, and stores what the next look needs. Null if a logout came first. */
  async #renew(issuer: Issuer, login: LoginToLookAt): Promise<Renewed | null> {
    const { secrets, logins, revocations } = this.#options;
    const { id } = login;
    const old = secrets.open(id, 'refresh_token', login.refreshToken);
    const { refreshToken, idToken } = await issuer.renew({ iss: login.iss, refreshToken: old });
    // First of all: the issuer takes the old one no longer.
    if (
      refreshToken !== null &&
      !(await logins.keepRefreshToken(login, secrets.seal(id, 'refresh_token', refreshToken)))
    ) {
      revocations.revokeLate(issuer, login, refreshToken);
      return null;
    }
    return { refreshToken: refreshToken ?? old, idToken };
  }

  /** Gives the person what the new ID token says. One whose groups can't be read leaves the last ones, for a while. */
  async #settle(issuer: Issuer, login: LoginToLookAt, { idToken }: Renewed): Promise<void> {
    const { secrets, logins, places } = this.#options;
    const { id, iss, sub } = login;
    if (idToken !== null) {
      const claims = await issuer.claimsOf(idToken, sub);
      const settled = await places.settle(issuer.settings, { iss, sub }, claims, from);
      if (!isPlaces(settled) && isUnread(settled)) {
        await this.#keepLast(issuer, login, settled);
        return;
      }
    }
    await logins.finish(login, idToken === null ? null : secrets.seal(id, 'id_token', idToken));
  }

  /** Goes on with the groups that were read last, as long as they may count. */
  async #keepLast(issuer: Issuer, login: LoginToLookAt, problem: UnreadGroups): Promise<void> {
    const { logins, reportUnread, endSessions, revocations, log } = this.#options;
    const { name } = issuer.settings;
    log.warn(
      { issuer: name, login: login.id, problem: problem.kind },
      'the groups of a person are unreadable',
    );
    await logins.finish(login, null);
    await reportUnread(name, problem);
    if (!login.hasOldGroups) return;
    await endSessions([login.id]);
    await logins.endLooks([login.id], { revokes: true });
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
    const { logins, endSessions, log } = this.#options;
    log.warn({ issuer, logins: overdue.length }, 'ended sessions of an issuer that is away');
    await endSessions(overdue);
    await logins.endLooks(overdue, { revokes: true });
  }
}
