import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Logger } from '@gatehouse/kit/log';
import { describeFailure, IssuerError } from '../issuers/issuer-error.ts';
import type { Issuer } from '../issuers/issuer.ts';
import type { RevocationOutcome } from './issuer-metrics.ts';
import type { Login, LoginSecrets } from './login.ts';

/** A login that nothing needs any more; without a refresh token where that is not to be revoked. */
export type DroppedLogin = Pick<Login, 'id' | 'issuer'> & { refreshToken: Buffer | null };

export interface TokenRevocationsDependencies {
  issuers: ReadonlyMap<string, Issuer>;
  secrets: LoginSecrets;
  /** Ends the looks at a login; null if there are none, or a session or a program needs them. */
  drop: (loginId: string) => Promise<DroppedLogin | null>;
  count: (issuer: string, outcome: RevocationOutcome) => void;
  log: Logger;
}

/** Calls of one issuer; an issuer that hangs delays no other, and what waits in vain is left to the issuer. */
const inFlight = { perKey: 2, slots: 16, maxWaiting: 50 };

/** Revokes refresh tokens of people who have logged out (RFC 7009), as far as their issuers take that. */
export class TokenRevocations {
  readonly #options: TokenRevocationsDependencies;
  readonly #queue = new FairQueue(inFlight);

  constructor(options: TokenRevocationsDependencies) {
    this.#options = options;
  }

  /** Returns at once: the person doesn't wait for the issuer. */
  start(loginId: string): void {
    this.#revoke(loginId).catch((error: unknown) => {
      this.#options.log.warn({ err: error, login: loginId }, 'failed to end the looks at a login');
    });
  }

  async #revoke(loginId: string): Promise<void> {
    const { drop, issuers, count } = this.#options;
    const login = await drop(loginId);
    const issuer = issuers.get(login?.issuer ?? '');
    if (login === null || issuer === undefined) return;
    count(issuer.settings.name, await this.#outcomeOf(issuer, login));
  }

  async #outcomeOf(issuer: Issuer, { id, refreshToken }: DroppedLogin): Promise<RevocationOutcome> {
    if (refreshToken === null) return 'skipped';
    const { secrets, log } = this.#options;
    const { name } = issuer.settings;
    try {
      const token = secrets.open(id, 'refresh_token', refreshToken);
      return (await this.#queue.run(name, () => issuer.revoke(token))) ? 'revoked' : 'skipped';
    } catch (error) {
      if (error instanceof AppError) return 'skipped';
      const reason = error instanceof IssuerError ? { reason: describeFailure(error) } : { err: error };
      log.warn({ issuer: name, login: id, ...reason }, 'failed to revoke a refresh token');
      return 'failed';
    }
  }
}
