import { errors } from 'jose';
import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';

export type IssuerFailure =
  /** It can't be reached, or its answers are of no use now. Nothing about the person is known. */
  | 'away'
  /** It doesn't confirm the login, or what it sent fails a check. */
  | 'refused';

/** A failed call of an issuer. The cause is for the log. */
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

/** The failure behind an error of the libraries. */
export function issuerError(error: unknown): IssuerError {
  if (error instanceof IssuerError) return error;
  if (error instanceof ResponseBodyError) {
    const failure = error.status < 500 && aboutTheGrant.has(error.error) ? 'refused' : 'away';
    return new IssuerError(failure, `The issuer returned ${error.error.slice(0, 64)}.`, { cause: error });
  }
  if (isFailedCheck(error)) return new IssuerError('refused', 'A check failed.', { cause: error });
  return new IssuerError('away', 'The issuer is unavailable.', { cause: error });
}

/** The reason of a failure, without texts from an issuer or a browser. */
export function describeFailure(error: IssuerError): string {
  const reasons: string[] = [error.message];
  for (let cause: unknown = error.cause; cause instanceof Error && reasons.length < 5; cause = cause.cause) {
    const { code } = cause as { code?: unknown };
    reasons.push(typeof code === 'string' ? `${cause.name} ${code.slice(0, 64)}` : cause.name);
  }
  return reasons.join(' < ');
}

/** Error codes of the libraries for a failed check of a token, or of an answer brought back by a browser. */
const failedChecks: ReadonlySet<string> = new Set([
  ...['OAUTH_INVALID_RESPONSE', 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED', 'OAUTH_JWT_CLAIM_COMPARISON_FAILED'],
  ...['ERR_JWT_CLAIM_VALIDATION_FAILED', 'ERR_JWT_EXPIRED', 'ERR_JWT_INVALID', 'ERR_JWS_INVALID'],
  ...['ERR_JWS_SIGNATURE_VERIFICATION_FAILED', 'ERR_JWKS_NO_MATCHING_KEY'],
  ...['ERR_JOSE_ALG_NOT_ALLOWED', 'ERR_JOSE_NOT_SUPPORTED'],
]);

/** False for an unknown error: it says nothing about the person. */
function isFailedCheck(error: unknown): boolean {
  if (error instanceof AuthorizationResponseError) return true;
  if (error instanceof errors.JOSEError) return failedChecks.has(error.code);
  return error instanceof ClientError && failedChecks.has(error.code ?? '') && !isAboutBody(error);
}

/** Whether an error is about the body of an answer, like missing tokens, rather than about a token. */
function isAboutBody({ cause }: ClientError): boolean {
  const details = cause instanceof Error ? cause.cause : undefined;
  return typeof details === 'object' && details !== null && 'body' in details;
}
