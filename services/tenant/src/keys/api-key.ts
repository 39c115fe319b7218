import type { Budget, Limits } from '@gatehouse/contract/keys';
import type { Role, Scope } from '@gatehouse/contract/scopes';

export type ApiKeyStatus = 'active' | 'expiring' | 'expired' | 'revoked';

/** What makes a new key; its text is not part of it, only the hash of its secret. */
export interface NewApiKey {
  id: string;
  /** Null for owner keys only. */
  tenantId: string | null;
  keyId: string;
  secretSha256: Buffer;
  name: string;
  role: Role;
  scopes: readonly Scope[];
  /** The user it is bound to. */
  userId: string | null;
  limits: Limits | null;
  budget: Budget | null;
  expiresAt: string | null;
  /** The id of the key that made it, or `bootstrap`. */
  createdBy: string;
}

/** A key as it is kept, without anything of its secret. */
export interface ApiKey extends Omit<NewApiKey, 'secretSha256' | 'expiresAt'> {
  status: ApiKeyStatus;
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
}
