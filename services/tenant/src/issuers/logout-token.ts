import { storableText } from '@gatehouse/contract/fields';
import { z } from 'zod';
import type { Claims } from './grants.ts';
import { IssuerError } from './issuer-error.ts';

/** A logout that an issuer reports: of a session, of a person, or of a session of a person. */
export interface IssuerLogout {
  iss: string;
  sub: string | null;
  sid: string | null;
  /** The id of the report. */
  jti: string;
}

/** The name of a person, a session or a report in a token. */
export const tokenId = storableText(1, 255);

const shape = z
  .looseObject({
    iss: z.string(),
    jti: tokenId,
    sub: tokenId.optional(),
    sid: tokenId.optional(),
    events: z.looseObject({ 'http://schemas.openid.net/event/backchannel-logout': z.looseObject({}) }),
    // An ID token can't be passed off as a logout token.
    nonce: z.never().optional(),
  })
  .refine(({ sub, sid }) => (sub ?? sid) !== undefined);

/**
 * The logout in the members of a verified token (OpenID Connect Back-Channel Logout, 2.6). Throws {@link IssuerError}
 * for a token that is none.
 */
export function logoutOf(claims: Claims): IssuerLogout {
  const parsed = shape.safeParse(claims);
  if (!parsed.success) throw new IssuerError('refused', 'The token is not a logout token.');
  const { iss, sub = null, sid = null, jti } = parsed.data;
  return { iss, sub, sid, jti };
}
