import type { OAuthErrorCode } from '@gatehouse/contract/oauth';

/** An error that a program gets in the shape of OAuth, with the status 400 (RFC 6749 §5.2, RFC 8628 §3.5). */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode;

  constructor(code: OAuthErrorCode, description: string) {
    super(description);
    this.code = code;
  }
}
