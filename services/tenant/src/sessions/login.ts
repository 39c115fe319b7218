import type { TenantStatus } from '@gatehouse/contract/tenants';
import type { SealedTexts } from '@gatehouse/secrets/sealed-texts';

/** A login of a person by an issuer. Its tokens are sealed. */
export interface Login {
  id: string;
  /** The name of the issuer in the settings. */
  issuer: string;
  iss: string;
  sub: string;
  /** The session at the issuer. */
  sid: string | null;
  idToken: Buffer;
  refreshToken: Buffer | null;
  /** Claims of user info, while the person chooses among several tenants. */
  userInfo: Buffer | null;
  createdAt: Date;
}

/** A login closed by a logout. */
export type ClosedLogin = Pick<Login, 'id' | 'iss' | 'sub'>;

export interface NewLogin extends Omit<Login, 'createdAt'> {
  /** When the browser began it. */
  begunAt: Date;
  /** The hash of the token by which a browser chooses among tenants. */
  choiceSha256: Buffer | null;
}

/** A login due for revalidation. */
export interface LoginToRevalidate extends Pick<Login, 'id' | 'iss' | 'sub'> {
  refreshToken: Buffer;
  /** The number of the look. */
  looks: number;
  /** Whether it has an open session, or programs have keys of the person. */
  isInUse: boolean;
  /** Whether the issuer has not confirmed it for longer than the grace. */
  isOverdue: boolean;
  /** Whether the known groups are too old to count on. */
  hasOldGroups: boolean;
}

/** A refresh token, not yet revoked by its issuer. It is sealed, as its login's token was. */
export interface WaitingRevocation extends Pick<Login, 'issuer' | 'iss' | 'sub'> {
  id: string;
  loginId: string;
  refreshToken: Buffer;
}

/** Tenants as mappings name them. */
export interface NamedTenants {
  ids: readonly string[];
  slugs: readonly string[];
}

export interface TenantOfLogin {
  id: string;
  slug: string;
  status: TenantStatus;
}

/** A sealed value of a login, by its column. */
interface LoginToken {
  id: string;
  column: 'id_token' | 'refresh_token' | 'user_info';
}

/** Seals and opens the tokens of logins. */
export type LoginSecrets = SealedTexts<LoginToken>;

export function contextOfLogin({ id, column }: LoginToken): string {
  return `tenant.logins/${column}/${id}`;
}
