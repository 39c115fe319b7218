import type { CreatePersonalKey, PersonalKey } from '@gatehouse/contract/personal-keys';
import { scopesOf, type Scope } from '@gatehouse/contract/scopes';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import { dayMs } from '@gatehouse/kit/bounds';
import type { ApiKey } from './api-key.ts';
import { assertInFuture, assertMayGive, scopesForNewKey } from './key-rules.ts';
import { showApiKey } from './key-views.ts';

/** A tenant's bounds for its people: whether they make keys, how many each, and for how many days. */
export interface UserKeys {
  enabled: boolean;
  max: number;
  maxDays: number;
}

/** A person's own key, or one given to a program. */
export interface PersonKey extends ApiKey {
  isOwn: boolean;
}

/** The user bound to the caller. Throws `acting_user_required` for an admin, who has the keys of the tenant. */
export function boundUserOf({ boundUser }: TenantPrincipal): string {
  if (boundUser !== null) return boundUser;
  throw new AppError(
    'acting_user_required',
    'Own keys are for sessions and keys that are bound to a user. Admins use /v1/api-keys.',
  );
}

/** The scopes of an own key. Throws `scope_missing` for scopes beyond the caller's. */
export function scopesOfOwnKey(principal: TenantPrincipal, requested: readonly Scope[] | undefined) {
  const callerScopes = principal.scopes.filter((scope) => scopesOf('user').includes(scope));
  const scopes = scopesForNewKey('user', requested ?? callerScopes);
  const same = { userId: principal.boundUser, toolsets: null };
  assertMayGive({ scopes: principal.scopes, ...same }, { scopes, ...same });
  return scopes;
}

/** The end of a new own key. Throws `invalid_value` for one beyond what the tenant allows. */
export function endOfOwnKey(
  { expires_at: requested }: Pick<CreatePersonalKey, 'expires_at'>,
  { maxDays }: UserKeys,
  nowMs: number,
): string {
  const latest = nowMs + maxDays * dayMs;
  if (requested === undefined) return new Date(latest).toISOString();
  assertInFuture(requested, nowMs);
  if (Date.parse(requested) <= latest) return requested;
  throw new AppError(
    'invalid_value',
    `Invalid value for expires_at: the tenant allows ${maxDays} days at most.`,
    { param: 'expires_at' },
  );
}

/** Throws `limit_reached` if the tenant allows no further key, or no keys at all. */
export function assertAllowed({ enabled, max }: UserKeys, has: number): void {
  if (!enabled) throw new AppError('limit_reached', 'This tenant lets no users make keys.');
  if (has >= max)
    throw new AppError('limit_reached', `A user has ${max} own keys at most: revoke one of them first.`);
}

export function showOwnKey(key: PersonKey): PersonalKey {
  return { ...showApiKey(key), program: !key.isOwn };
}
