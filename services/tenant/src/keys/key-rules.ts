import type { PatchApiKey } from '@gatehouse/contract/keys';
import {
  mayGiveScope,
  possibleScopes,
  scopes as allScopes,
  scopesOf,
  type Role,
  type Scope,
} from '@gatehouse/contract/scopes';
import { AppError } from '@gatehouse/kit/errors';
import type { ApiKey, KeySettings } from './api-key.ts';

/**
 * The scopes of a new key: the requested ones, or by default all scopes of its role. Throws a 400 for a scope outside
 * its role. Returns each scope once, in the order of `packages/contract`.
 */
export function scopesForNewKey(role: Role, requested: readonly Scope[] | undefined): readonly Scope[] {
  const allowed = possibleScopes(role);
  const beyond = requested?.find((scope) => !allowed.includes(scope));
  if (beyond !== undefined) {
    throw new AppError('invalid_value', `A key with the role ${role} cannot have the scope ${beyond}.`, {
      param: 'scopes',
    });
  }
  return allScopes.filter((scope) => (requested ?? scopesOf(role)).includes(scope));
}

/** A key's scopes now: its stored scopes without those that its role has lost since. */
export function effectiveScopes(role: Role, stored: readonly Scope[]): readonly Scope[] {
  return stored.filter((scope) => possibleScopes(role).includes(scope));
}

/** The actions allowed to a key. */
export interface Power {
  scopes: readonly Scope[];
  /** The user it is bound to; null reaches all users of the tenant. */
  userId: string | null;
  /** Names of its toolsets; null for all with the visibility `tenant`, and to give any. */
  toolsets: readonly string[] | null;
}

/** Checks that a key creates no key with more power than its own. Throws `scope_missing` or `user_mismatch`. */
export function assertMayGive(giver: Power, requested: Power): void {
  const missing = requested.scopes.find((scope) => !mayGiveScope(giver.scopes, scope));
  if (missing !== undefined) {
    throw new AppError('scope_missing', `The API key lacks the scope ${missing}, so it cannot grant it.`, {
      param: 'scopes',
    });
  }
  if (giver.userId !== null && giver.userId !== requested.userId) {
    throw new AppError(
      'user_mismatch',
      'An API key bound to a user can only create keys bound to that user.',
      {
        param: 'user_id',
      },
    );
  }
  const { toolsets } = giver;
  if (toolsets !== null && requested.toolsets?.every((name) => toolsets.includes(name)) !== true) {
    throw new AppError(
      'scope_missing',
      'The API key may not use all of these toolsets, so it cannot give them.',
      {
        param: 'toolsets',
      },
    );
  }
}

/**
 * The members of a key after a change. Throws `key_managed_by_login` for a key with the rights of a login or of another
 * key, a 400 for a scope outside its role, and as `assertMayGive` for rights beyond those of the changer.
 */
export function patchedKey(key: ApiKey, patch: PatchApiKey, changer: Power): KeySettings {
  if (key.isDerived)
    throw new AppError(
      'key_managed_by_login',
      'The API key has the rights of a login, or of the key that it was made with: change those.',
    );
  const { name = key.name, toolsets = key.toolsets, client_settings: settings = key.clientSettings } = patch;
  const scopes = patch.scopes === undefined ? key.scopes : scopesForNewKey(key.role, patch.scopes);
  assertMayGive(changer, {
    scopes: scopes.filter((scope) => !key.scopes.includes(scope)),
    userId: key.userId,
    toolsets: patch.toolsets === undefined ? changer.toolsets : toolsets,
  });
  return { name, scopes, toolsets, clientSettings: settings };
}

/** Throws a 400 when the expiry time of a key is set and not in the future. */
export function assertInFuture(expiresAt: string | null, nowMs: number): void {
  if (expiresAt === null || Date.parse(expiresAt) > nowMs) return;
  throw new AppError('invalid_value', 'Invalid value for expires_at: must lie in the future.', {
    param: 'expires_at',
  });
}
