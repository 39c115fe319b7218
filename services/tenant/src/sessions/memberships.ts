import { scopes as allScopes } from '@gatehouse/contract/scopes';
import type { TenantStatus } from '@gatehouse/contract/tenants';
import { isUuid } from '@gatehouse/kit/ids';
import {
  grantsOf,
  isGrants,
  isUnread,
  unitedToolsets,
  type Grant,
  type GrantProblem,
} from '../issuers/grants.ts';
import type { Claims } from '../issuers/claim-path.ts';
import type { IssuerSettings } from '../issuers/issuer-settings.ts';
import type { Person, Rights } from '../keys/api-key.ts';
import type { NamedTenants, TenantOfLogin } from './login.ts';
import type { From } from './session.ts';

/** A role in an existing tenant, under its current slug. */
export interface Membership extends Grant {
  tenantId: string | null;
  /** Null for the platform. */
  tenantStatus: TenantStatus | null;
}

export interface MembershipDependencies {
  findTenants: (person: Person, names: NamedTenants) => Promise<TenantOfLogin[]>;
  /** Revokes the keys of a person with rights beyond these. */
  keepOnly: (person: Person, rights: readonly Rights[], from: From) => Promise<void>;
}

/** The claims of a person; without some that mappings name, where user info failed. */
export interface ReadClaims {
  claims: Claims;
  isWhole: boolean;
}

/**
 * Returns the memberships of a person under the current role mapping, at least one, and revokes keys with more rights. A
 * token with unreadable groups revokes nothing, and neither do claims that aren't whole.
 */
export type SettleMemberships = (
  settings: IssuerSettings,
  person: Person,
  read: ReadClaims,
  from: From,
) => Promise<readonly Membership[] | GrantProblem>;

export function settleMemberships({ findTenants, keepOnly }: MembershipDependencies): SettleMemberships {
  return async (settings, { iss, sub }, { claims, isWhole }, from) => {
    const person = { iss, sub };
    const granted = grantsOf(claims, settings);
    if (!isGrants(granted) && isUnread(granted)) return granted;
    const grants = isGrants(granted) ? granted : [];
    const names = grants.flatMap(({ tenant }) => tenant ?? []);
    const { ids = [], slugs = [] } = Object.groupBy(names, (name) => (isUuid(name) ? 'ids' : 'slugs'));
    const memberTenants = names.length === 0 ? [] : await findTenants(person, { ids, slugs });
    const tenants = new Map(memberTenants.map((tenant) => [tenant.slug, tenant]));
    // Also for a slug that looks like the id of another tenant.
    for (const tenant of memberTenants) tenants.set(tenant.id, tenant);
    const places = grants.flatMap((grant): Membership[] => {
      if (grant.tenant === null) return [{ ...grant, tenantId: null, tenantStatus: null }];
      const tenant = tenants.get(grant.tenant);
      if (tenant === undefined) return [];
      return [{ ...grant, tenant: tenant.slug, tenantId: tenant.id, tenantStatus: tenant.status }];
    });
    const merged = [...Map.groupBy(places, ({ tenantId }) => tenantId).values()].map((same) =>
      same.reduce(higher),
    );
    if (isWhole) await keepOnly(person, merged, from);
    if (!isGrants(granted)) return granted;
    return merged.length === 0 ? { kind: 'no_tenant', tenants: names } : merged;
  };
}

/** Mappings name a tenant by id and by slug: the higher role counts, with the rights of both for the same one. */
function higher(one: Membership, other: Membership): Membership {
  if (one.role !== other.role) return one.role === 'admin' ? one : other;
  return {
    ...one,
    scopes: allScopes.filter((scope) => one.scopes.includes(scope) || other.scopes.includes(scope)),
    toolsets: unitedToolsets(one.toolsets, other.toolsets),
    clientSettings: one.clientSettings ?? other.clientSettings,
  };
}

export function isMemberships(result: readonly Membership[] | GrantProblem): result is readonly Membership[] {
  return Array.isArray(result);
}
