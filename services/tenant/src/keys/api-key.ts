import type { Role, Scope } from '@gatehouse/contract/scopes';
import type { Budget, Limits } from '@gatehouse/contract/keys';
import { newKeyText } from '@gatehouse/identity/key-text';
import { newId } from '@gatehouse/kit/ids';

export type ApiKeyStatus = 'active' | 'expiring' | 'expired' | 'revoked';

/** A person at an OpenID Connect issuer. */
export interface Person {
  iss: string;
  sub: string;
}

/** The name by which a person takes turns with others. */
export function turnOfPerson({ iss, sub }: Person): string {
  return JSON.stringify([iss, sub]);
}

/** The rights of programs with a key, beside its scopes. */
export interface ProgramRights {
  /** Names of toolsets; null for all with the visibility `tenant`. */
  toolsets: readonly string[] | null;
  /** The name of the settings for the program. */
  clientSettings: string | null;
}

/** All toolsets open to the tenant, and no settings. */
export const noProgramRights: ProgramRights = { toolsets: null, clientSettings: null };

/** The values of a new key. It holds the hash of the secret, never the text of the key. */
export interface NewApiKey extends ProgramRights {
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
  /** The id of its creator's key, `bootstrap`, or `login` with the name of an issuer. */
  createdBy: string;
  /** The person of a key created by a login. */
  person?: Person;
}

/** The values of a new key and its text, which is never stored. An omitted member sets no bound. */
export function newApiKey(
  values: Pick<NewApiKey, 'tenantId' | 'name' | 'role' | 'scopes' | 'createdBy'> & Partial<NewApiKey>,
): { text: string; key: NewApiKey } {
  const { text, ...secret } = newKeyText();
  return {
    text,
    key: {
      id: newId(),
      ...secret,
      userId: null,
      limits: null,
      budget: null,
      expiresAt: null,
      ...noProgramRights,
      ...values,
    },
  };
}

/** A stored key, without its secret or the hash of it. */
export interface ApiKey extends Omit<NewApiKey, 'secretSha256' | 'expiresAt' | 'person'> {
  status: ApiKeyStatus;
  /** Whether it takes its rights from a login, or from another key by which it was made. */
  isDerived: boolean;
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

/** The changeable members of a key. */
export type KeySettings = Pick<ApiKey, 'name' | 'scopes' | 'toolsets' | 'clientSettings'>;

/** The rights of a key. */
export interface Rights extends ProgramRights {
  /** Null for an owner. */
  tenantId: string | null;
  role: Role;
  scopes: readonly Scope[];
  userId: string | null;
}

export function haveSameRights(one: Rights, other: Rights): boolean {
  return includeRights(one, other) && includeRights(other, one);
}

/**
 * Whether rights are in the same place as those of a key, for the same user, and have all of its scopes. Toolsets don't
 * count: they change in place.
 */
export function includeRights(held: Rights, key: Rights): boolean {
  return (
    held.tenantId === key.tenantId &&
    held.role === key.role &&
    held.userId === key.userId &&
    key.scopes.every((scope) => held.scopes.includes(scope))
  );
}
