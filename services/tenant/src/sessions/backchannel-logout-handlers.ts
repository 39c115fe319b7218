import type { IncomingMessage } from 'node:http';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { Refusals } from '@gatehouse/public-access/refusals';
import { maxLogoutFormBytes } from '../bounds.ts';
import { describeFailure, IssuerError } from '../issuers/issuer-error.ts';
import type { Issuer } from '../issuers/issuer.ts';
import { formOf, fromOf } from './browser-session-handlers.ts';
import type { IssuerPage } from './login-page.ts';
import type { LoginSystemStore } from './login-system-store.ts';
import type { LoginSecrets } from './login.ts';
import type { SessionChangeStore } from './session-change-store.ts';
import type { From, Session } from './session.ts';
import type { TokenRevocations } from './token-revocations-job.ts';

export interface IssuerLogoutDependencies {
  issuers: ReadonlyMap<string, Issuer>;
  secrets: LoginSecrets;
  logins: LoginSystemStore;
  sessions: SessionChangeStore;
  revocations: TokenRevocations;
  log: Logger;
}

/** Logouts at the gateway, continued at an issuer, and logouts at an issuer, which end sessions here. */
export class IssuerLogouts {
  readonly #options: IssuerLogoutDependencies;

  constructor(options: IssuerLogoutDependencies) {
    this.#options = options;
  }

  /** The issuer's page for an ended session; null for a session by a key, and for an issuer without a page. */
  async pageOf({ loginId }: Pick<Session, 'loginId'>): Promise<IssuerPage | null> {
    const { logins, issuers, secrets, log } = this.#options;
    if (loginId === null) return null;
    try {
      const login = await logins.find(loginId);
      const issuer = issuers.get(login?.issuer ?? '');
      if (login === null || issuer === undefined) return null;
      const url = await issuer.logoutUrl(secrets.open({ id: login.id, column: 'id_token' }, login.idToken));
      return url === null ? null : { issuer: issuer.settings.name, url };
    } catch (error) {
      // The session has ended, and the person sees so.
      log.warn({ err: error }, 'failed to find the page for logout of an issuer');
      return null;
    }
  }

  /** Revokes the refresh token of an ended session. Returns at once. */
  forget({ loginId }: Pick<Session, 'loginId'>): void {
    if (loginId !== null) this.#options.revocations.forget(loginId);
  }

  /** Ends the sessions named in a logout token, once. Throws {@link IssuerError}. */
  async end(issuer: Issuer, token: string, from: From): Promise<void> {
    const { sessions, revocations } = this.#options;
    const closed = await sessions.endAtIssuer(await issuer.verifyLogout(token), from);
    if (closed === null) throw new IssuerError('refused', 'The token was used before.');
    revocations.begin(issuer);
  }
}

export interface BackchannelLogoutDependencies {
  issuers: ReadonlyMap<string, Issuer>;
  issuerLogouts: IssuerLogouts;
  refusals: Refusals;
  log: Logger;
}

/** An answer in the shape of OAuth (RFC 6749, 5.2). */
interface Problem {
  error: 'invalid_request' | 'temporarily_unavailable';
  error_description: string;
}

/** Logouts reported by issuers: OpenID Connect Back-Channel Logout 1.0. */
export function backchannelLogoutHandlers({
  issuers,
  issuerLogouts,
  refusals,
  log,
}: BackchannelLogoutDependencies): Record<string, RawHandler> {
  return {
    'login.oidc.logout': async (request, response, call) => {
      const issuer = issuers.get(call.params['issuer'] ?? '');
      if (issuer === undefined) throw new AppError('not_found', 'There is no such issuer.');
      const headers = { [requestIdHeader]: call.requestId };
      try {
        await issuerLogouts.end(issuer, await tokenIn(request), fromOf(request, call));
        sendJson(response, 200, {}, headers);
      } catch (error) {
        const problem = problemOf(error);
        logProblem(log, { error, issuer, call });
        if (problem.error === 'invalid_request') await refusals.count('logout_token', clientIpOf(request));
        // For an unavailable issuer too: the standard has one status for all failures (2.8).
        sendJson(response, 400, problem, headers);
      }
    },
  };
}

/** Throws {@link AppError} for a request without one logout token. */
async function tokenIn(request: IncomingMessage): Promise<string> {
  const [token, another] = (await formOf(request, maxLogoutFormBytes)).getAll('logout_token');
  if (token === undefined || another !== undefined)
    throw new AppError('invalid_value', 'The form must have one logout_token.');
  return token;
}

/** Throws errors unrelated to the request. */
function problemOf(error: unknown): Problem {
  if (error instanceof IssuerError && error.failure === 'away')
    return { error: 'temporarily_unavailable', error_description: 'The keys of the issuer are unavailable.' };
  const isOfRequest = error instanceof IssuerError || (error instanceof AppError && error.status < 500);
  if (!isOfRequest) throw error;
  return { error: 'invalid_request', error_description: error.message };
}

function logProblem(
  log: Logger,
  { error, issuer, call }: { error: unknown; issuer: Issuer; call: RawCall },
): void {
  if (!(error instanceof IssuerError)) return;
  const { name } = issuer.settings;
  const fields = { issuer: name, request_id: call.requestId, reason: describeFailure(error) };
  log.warn(fields, 'an issuer reported a logout in vain');
}
