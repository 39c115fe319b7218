import { z } from 'zod';

/** Errors as OAuth has them. */

/** The codes of errors: RFC 6749 §5.2 and §4.1.2.1, RFC 8628 §3.5. */
export const oauthErrorCodes = [
  'invalid_request',
  'invalid_grant',
  'unsupported_grant_type',
  'unsupported_token_type',
  'authorization_pending',
  'slow_down',
  'access_denied',
  'expired_token',
  'server_error',
  'temporarily_unavailable',
] as const;
export type OAuthErrorCode = (typeof oauthErrorCodes)[number];

export const oauthErrorBody = z
  .strictObject({
    error: z.enum(oauthErrorCodes).describe('A code for programs'),
    error_description: z.string().describe('For humans; the text may change'),
  })
  .describe('The body of an error as OAuth has it (RFC 6749, section 5.2)');
