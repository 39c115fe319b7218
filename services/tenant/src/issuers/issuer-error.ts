import { EgressError } from '@gatehouse/egress/errors';
import { errors } from 'jose';
import { ClientError, ResponseBodyError } from 'openid-client';

export type IssuerFailure =
  /** It can't be reached, or its answers are of no use now. Nothing about the person is known. */
  | 'away'
  /** It doesn't confirm the login, or what it sent fails a check. */
  | 'refused';

/** A call of an issuer that failed. The cause is for the log. */
export class IssuerError extends Error {
  readonly failure: IssuerFailure;

  constructor(failure: IssuerFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IssuerError';
    this.failure = failure;
  }
}

/** Errors by which an issuer rejects a code or a refresh token, rather than the gateway as a client (RFC 6749, 5.2). */
const aboutTheGrant: ReadonlySet<string> = new Set([
  'invalid_grant',
  'access_denied',
  'interaction_required',
]);

/** The failure that an error of the libraries stands for. */
export function issuerError(error: unknown): IssuerError {
  if (error instanceof IssuerError) return error;
  if (error instanceof ResponseBodyError) {
    const failure = error.status < 500 && aboutTheGrant.has(error.error) ? 'refused' : 'away';
    return new IssuerError(failure, `The issuer returned ${error.error.slice(0, 64)}.`, { cause: error });
  }
  const failure = isOutage(error) ? 'away' : 'refused';
  return new IssuerError(failure, failure === 'away' ? 'The issuer is unavailable.' : 'A check failed.', {
    cause: error,
  });
}

/** The reason of a failure, without texts that an issuer or a browser has sent. */
export function describeFailure(error: IssuerError): string {
  const reasons: string[] = [error.message];
  for (let cause: unknown = error.cause; cause instanceof Error && reasons.length < 5; cause = cause.cause) {
    const { code } = cause as { code?: unknown };
    reasons.push(typeof code === 'string' ? `${cause.name} ${code.slice(0, 64)}` : cause.name);
  }
  return reasons.join(' < ');
}

/** Codes of the libraries for answers that are not those of an issuer, such as the page of a proxy. */
const unusable: ReadonlySet<string> = new Set([
  ...['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'],
  ...['OAUTH_PARSE_ERROR', 'OAUTH_HTTP_REQUEST_FORBIDDEN'],
]);

function isOutage(error: unknown): boolean {
  if (error instanceof EgressError || error instanceof errors.JWKSTimeout) return true;
  if (error instanceof errors.JWKSInvalid) return true;
  // The set of keys has no type of its own for an answer that is no set.
  if (error instanceof errors.JOSEError && error.code === 'ERR_JOSE_GENERIC') return true;
  if (error instanceof ClientError && unusable.has(error.code ?? '')) return true;
  return error instanceof Error && error.cause !== undefined && isOutage(error.cause);
}
