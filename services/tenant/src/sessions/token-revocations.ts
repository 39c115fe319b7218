import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Logger } from '@gatehouse/kit/log';
import { newId } from '@gatehouse/kit/ids';
import { UnawaitedWork } from '@gatehouse/kit/unawaited-work';
import { describeFailure, IssuerError } from '../issuers/issuer-error.ts';
import type { Issuer } from '../issuers/issuer.ts';
import type { Person } from '../keys/api-key.ts';
import type { RevocationOutcome } from './issuer-metrics.ts';
import type { Login, LoginSecrets } from './login.ts';

/** A login that nothing needs any more; without a refresh token where that is not to be revoked. */
export type DroppedLogin = Pick<Login, 'id' | 'issuer' | 'iss' | 'sub'> & { refreshToken: Buffer | null };

/** A refresh token that its issuer has not revoked yet. It is sealed, as that of its login was. */
export interface WaitingRevocation extends Pick<Login, 'issuer' | 'iss' | 'sub'> {
  id: string;
  loginId: string;
  refreshToken: Buffer;
}

interface WaitingRevocations {
  /** Returns false if too many wait for the issuer. */
  add(revocation: WaitingRevocation): Promise<boolean>;
  /** Claims up to `limit` of an issuer that are due. */
  claim(issuer: string, limit: number): Promise<WaitingRevocation[]>;
  remove(id: string): Promise<void>;
}

export interface TokenRevocationsDependencies {
  issuers: ReadonlyMap<string, Issuer>;
  secrets: LoginSecrets;
  /** Ends the looks at a login; null if there are none, or a session or a program needs them. */
  drop: (loginId: string) => Promise<DroppedLogin | null>;
  /** Whether any login of a person is looked at. */
  isLookedAt: (person: Person) => Promise<boolean>;
  /** Revocations that have failed. */
  waiting: WaitingRevocations;
  count: (issuer: string, outcome: RevocationOutcome) => void;
  log: Logger;
}

/** Calls of one issuer; an issuer that hangs delays no other, and what waits in vain is tried later. */
const inFlight = { perKey: 2, slots: 16, maxWaiting: 50 };

/** Those of a round of further attempts. */
const retried = 20;

type LoginOfPerson = Pick<Login, 'id' | 'iss' | 'sub'>;

/** Revokes refresh tokens of people who have logged out (RFC 7009), as far as their issuers take that. */
export class TokenRevocations {
  readonly #options: TokenRevocationsDependencies;
  readonly #queue = new FairQueue(inFlight);
  readonly #work = new UnawaitedWork();

  constructor(options: TokenRevocationsDependencies) {
    this.#options = options;
  }

  /** Ends the looks at a login, and revokes its token. Returns at once: the person doesn't wait for the issuer. */
  forget(loginId: string): void {
    this.#begin(loginId, () => this.#forget(loginId));
  }

  /**
   * Revokes a token of a login whose looks have ended, because a logout came first or its ID token was refused. Not if
   * others of its person are looked at. Returns at once.
   */
  revokeLate(issuer: Issuer, login: LoginOfPerson, token: string): void {
    this.#begin(login.id, async () => {
      const isNeeded = await this.#options.isLookedAt(login);
      await this.#revoke(issuer, login, isNeeded ? null : token);
    });
  }

  /** Tries revocations again that are due, unless their person has logged in meanwhile. True if there may be more. */
  async retry(issuer: Issuer): Promise<boolean> {
    const { waiting, isLookedAt, secrets, count } = this.#options;
    const { name } = issuer.settings;
    const due = await waiting.claim(name, retried);
    const again = async ({ id, loginId, iss, sub, refreshToken }: WaitingRevocation): Promise<void> => {
      const token = secrets.open(loginId, 'refresh_token', refreshToken);
      const outcome = (await isLookedAt({ iss, sub }))
        ? 'skipped'
        : await this.#outcomeOf(issuer, { id: loginId, iss, sub }, token);
      count(name, outcome);
      if (outcome !== 'failed') await waiting.remove(id);
    };
    await Promise.all(due.map(again));
    return due.length === retried;
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  #begin(loginId: string, work: () => Promise<void>): void {
    this.#work.begin(work, (error) => {
      this.#options.log.warn({ err: error, login: loginId }, 'failed to end the looks at a login');
    });
  }

  async #forget(loginId: string): Promise<void> {
    const { drop, issuers, secrets } = this.#options;
    const login = await drop(loginId);
    const issuer = issuers.get(login?.issuer ?? '');
    if (login === null || issuer === undefined) return;
    const { refreshToken: sealed } = login;
    await this.#revoke(issuer, login, sealed && secrets.open(loginId, 'refresh_token', sealed));
  }

  async #revoke(issuer: Issuer, login: LoginOfPerson, token: string | null): Promise<void> {
    const { id, iss, sub } = login;
    const { count, waiting, secrets, log } = this.#options;
    const { name } = issuer.settings;
    const outcome = token === null ? 'skipped' : await this.#outcomeOf(issuer, login, token);
    count(name, outcome);
    if (token === null || outcome !== 'failed') return;
    const refreshToken = secrets.seal(id, 'refresh_token', token);
    if (!(await waiting.add({ id: newId(), issuer: name, loginId: id, iss, sub, refreshToken })))
      log.warn({ issuer: name, login: id }, 'too many revocations of an issuer wait');
  }

  async #outcomeOf(
    issuer: Issuer,
    { id: loginId, iss }: LoginOfPerson,
    refreshToken: string,
  ): Promise<RevocationOutcome> {
    const { name } = issuer.settings;
    try {
      return (await this.#queue.run(name, () => issuer.revoke({ iss, refreshToken })))
        ? 'revoked'
        : 'skipped';
    } catch (error) {
      // Too many wait.
      if (error instanceof AppError) return 'failed';
      const reason = error instanceof IssuerError ? { reason: describeFailure(error) } : { err: error };
      this.#options.log.warn({ issuer: name, login: loginId, ...reason }, 'failed to revoke a refresh token');
      return 'failed';
    }
  }
}
