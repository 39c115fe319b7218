import type { Logger } from '@gatehouse/kit/log';
import { IssuerError } from '../issuers/issuer-error.ts';
import type { Issuer } from '../issuers/issuer.ts';
import type { IssuerLogout } from '../issuers/logout-token.ts';
import type { ClosedLogin, Login, LoginSecrets } from './login.ts';
import type { From, Session } from './session.ts';
import type { TokenRevocations } from './token-revocations.ts';

/** The page where a person logs out at an issuer. */
export interface IssuerPage {
  issuer: string;
  url: string;
}

export interface IssuerLogoutDependencies {
  issuers: ReadonlyMap<string, Issuer>;
  secrets: LoginSecrets;
  findLogin: (id: string) => Promise<Login | null>;
  /** The logins that it has closed; null for a report that was used before. */
  endSessions: (logout: IssuerLogout, from: From) => Promise<ClosedLogin[] | null>;
  revocations: TokenRevocations;
  log: Logger;
}

/** Logouts at the gateway that go on at an issuer, and logouts at an issuer that end sessions here. */
export class IssuerLogouts {
  readonly #options: IssuerLogoutDependencies;

  constructor(options: IssuerLogoutDependencies) {
    this.#options = options;
  }

  /** The page for a session that has ended; null for one by a key, and where the issuer has none. */
  async pageOf({ loginId }: Pick<Session, 'loginId'>): Promise<IssuerPage | null> {
    const { findLogin, issuers, secrets, log } = this.#options;
    if (loginId === null) return null;
    try {
      const login = await findLogin(loginId);
      const issuer = issuers.get(login?.issuer ?? '');
      if (login === null || issuer === undefined) return null;
      const url = await issuer.logoutUrl(secrets.open(login.id, 'id_token', login.idToken));
      return url === null ? null : { issuer: issuer.settings.name, url };
    } catch (error) {
      // The session has ended, and the person sees so.
      log.warn({ err: error }, 'failed to find the page for logout of an issuer');
      return null;
    }
  }

  /** Revokes the refresh token of a session that has ended. Returns at once. */
  forget({ loginId }: Pick<Session, 'loginId'>): void {
    if (loginId !== null) this.#options.revocations.forget(loginId);
  }

  /** Ends the sessions that a logout token names, once. Throws {@link IssuerError}. */
  async end(issuer: Issuer, token: string, from: From): Promise<void> {
    const { endSessions, revocations } = this.#options;
    const closed = await endSessions(await issuer.verifyLogout(token), from);
    if (closed === null) throw new IssuerError('refused', 'The token was used before.');
    revocations.begin(issuer);
  }
}
