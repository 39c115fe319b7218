import type { IncomingMessage } from 'node:http';
import type { RawCall, RawHandler } from '@gatehouse/http/app';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { Refusals } from '@gatehouse/public-access/refusals';
import { describeFailure, IssuerError } from '../issuers/issuer-error.ts';
import type { Issuer } from '../issuers/issuer.ts';
import { fromOf } from './browser-session-handlers.ts';
import type { IssuerLogouts } from './issuer-logouts.ts';
import { formOf } from './login-handlers.ts';

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

const maxBytes = 16_384;

/** Logouts that issuers report: OpenID Connect Back-Channel Logout 1.0. */
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
        // For an issuer that is away too: the standard has one status for all failures (2.8).
        sendJson(response, 400, problem, headers);
      }
    },
  };
}

/** Throws {@link AppError} for a request without one logout token. */
async function tokenIn(request: IncomingMessage): Promise<string> {
  const [token, another] = (await formOf(request, maxBytes)).getAll('logout_token');
  if (token === undefined || another !== undefined)
    throw new AppError('invalid_value', 'The form must have one logout_token.');
  return token;
}

/** Throws the errors that are not about the request. */
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
