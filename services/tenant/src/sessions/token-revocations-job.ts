import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Logger } from '@gatehouse/kit/log';
import { UnawaitedWork } from '@gatehouse/kit/unawaited-work';
import { revocationsInFlight, revocationsAtOnce } from '../bounds.ts';
import { describeFailure, IssuerError } from '../issuers/issuer-error.ts';
import type { Issuer } from '../issuers/issuer.ts';
import type { RevocationOutcome } from './issuer-metrics.ts';
import type { Login, LoginSecrets, WaitingRevocation } from './login.ts';
import type { RevalidationSystemStore } from './revalidation-system-store.ts';
import type { TokenRevocationSystemStore } from './token-revocation-system-store.ts';

export interface TokenRevocationsDependencies {
  issuers: ReadonlyMap<string, Issuer>;
  secrets: LoginSecrets;
  revalidations: RevalidationSystemStore;
  /** Revocations to be made, new or failed before. */
  waiting: TokenRevocationSystemStore;
  count: (issuer: string, outcome: RevocationOutcome) => void;
  log: Logger;
}

type LoginOfPerson = Pick<Login, 'id' | 'iss' | 'sub'>;

/**
 * Revokes refresh tokens of people after a logout (RFC 7009), as far as their issuers take revocations. The statement
 * that ends a login's revalidations stores its token for the revocation: the loss of a replica loses no token.
 */
export class TokenRevocations {
  readonly #options: TokenRevocationsDependencies;
  readonly #queue = new FairQueue(revocationsInFlight);
  readonly #work = new UnawaitedWork();

  constructor(options: TokenRevocationsDependencies) {
    this.#options = options;
  }

  /** Ends the looks at a login, and revokes its token. Returns at once: the person doesn't wait for the issuer. */
  forget(loginId: string): void {
    const { revalidations, issuers } = this.#options;
    this.#begin(async () => {
      const issuer = issuers.get((await revalidations.drop(loginId)) ?? '');
      if (issuer !== undefined) await this.retry(issuer);
    });
  }

  /** Makes an issuer's due revocations. Returns at once. */
  begin(issuer: Issuer): void {
    this.#begin(() => this.retry(issuer));
  }

  /** Revokes a token without a login: its login was dropped while the issuer sent it. Returns at once. */
  revokeLate(issuer: Issuer, login: LoginOfPerson, token: string): void {
    const { waiting, secrets, log } = this.#options;
    this.#begin(async () => {
      const { id: loginId, iss, sub } = login;
      const { name } = issuer.settings;
      const refreshToken = secrets.seal({ id: loginId, column: 'refresh_token' }, token);
      if (!(await waiting.add({ issuer: name, loginId, iss, sub, refreshToken })))
        log.warn({ issuer: name, login: loginId }, 'too many revocations of an issuer wait');
      await this.retry(issuer);
    });
  }

  /** Makes due revocations. True if there may be more. */
  async retry(issuer: Issuer): Promise<boolean> {
    const { waiting, revalidations, secrets, count } = this.#options;
    const { name } = issuer.settings;
    const due = await waiting.claim(name, revocationsAtOnce);
    const again = async ({ id, loginId, iss, sub, refreshToken }: WaitingRevocation): Promise<void> => {
      // The person may have logged in since the claim.
      if (await revalidations.isRevalidated({ iss, sub })) return;
      const token = secrets.open({ id: loginId, column: 'refresh_token' }, refreshToken);
      const outcome = await this.#outcomeOf(issuer, { id: loginId, iss, sub }, token);
      count(name, outcome);
      if (outcome !== 'failed') await waiting.remove(id);
    };
    await Promise.all(due.map(again));
    return due.length === revocationsAtOnce;
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  #begin(work: () => Promise<unknown>): void {
    this.#work.begin(
      async () => void (await work()),
      (error) => this.#options.log.warn({ err: error }, 'failed to revoke refresh tokens'),
    );
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
