import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role, Scope } from '@gatehouse/contract/scopes';
import type { TenantStatus } from '@gatehouse/contract/tenants';

/** The stored values for the verification of a key. The database compares the times. */
export interface KeyHashes {
  secretSha256: Buffer;
  /** The secret before the last rotation, while it still works. */
  previousSecretSha256: Buffer | null;
  previousValidUntil: Date | null;
  expiresAt: Date | null;
  revoked: boolean;
  expired: boolean;
}

/** A key as it is found by the public half of its text, with the status of its tenant. */
export interface StoredKey extends KeyHashes {
  id: string;
  name: string;
  tenantId: string | null;
  tenantSlug: string | null;
  tenantStatus: TenantStatus | null;
  role: Role;
  scopes: readonly Scope[];
  userId: string | null;
  /** The key of its confirming session, if it was made for a command line. */
  confirmedBy: string | null;
  /** Names of its toolsets; null for all with the visibility `tenant`. */
  toolsets: string[] | null;
  /** Whether the last noted use is more than an hour ago. */
  lastUseIsStale: boolean;
  /** Whether the tenant has users in its directory. */
  hasUsers: boolean;
}

export type Verdict = 'accepted' | 'unknown' | 'revoked' | 'expired';

const sha256Bytes = 32;

/** Unknown keys are compared with this: response times don't reveal which ids exist. */
const noCredentials: KeyHashes = {
  secretSha256: randomBytes(sha256Bytes),
  previousSecretSha256: null,
  previousValidUntil: null,
  expiresAt: null,
  revoked: false,
  expired: false,
};

/** Verifies the hash of a secret. Only a caller with the right secret learns of a revoked or expired key. */
export function judge(credentials: KeyHashes | null, secretSha256: Buffer): Verdict {
  const {
    secretSha256: current,
    previousSecretSha256: previous,
    revoked,
    expired,
  } = credentials ?? noCredentials;
  const matchesCurrent = matches(current, secretSha256);
  const matchesPrevious = matches(previous ?? noCredentials.secretSha256, secretSha256) && previous !== null;
  if (credentials === null || !(matchesCurrent || matchesPrevious)) return 'unknown';
  if (revoked) return 'revoked';
  return expired ? 'expired' : 'accepted';
}

/** Whether it is the secret of now, and not the one before the last rotation. */
export function isCurrent({ secretSha256 }: Pick<KeyHashes, 'secretSha256'>, accepted: Buffer): boolean {
  return matches(secretSha256, accepted);
}

/** The end of a valid secret: the end of its key, or of the overlap for the secret before a rotation. */
export function endOf(
  { secretSha256, previousValidUntil, expiresAt }: KeyHashes,
  accepted: Buffer,
): Date | null {
  if (previousValidUntil === null || matches(secretSha256, accepted)) return expiresAt;
  return expiresAt === null || previousValidUntil < expiresAt ? previousValidUntil : expiresAt;
}

function matches(stored: Buffer, presented: Buffer): boolean {
  return presented.length === sha256Bytes && timingSafeEqual(stored, presented);
}
