import type { TenantStatus } from '@gatehouse/contract/tenants';
import {
  grantsOf,
  isGrants,
  isUnread,
  type Claims,
  type Grant,
  type GrantProblem,
} from '../issuers/grants.ts';
import type { IssuerSettings } from '../issuers/issuer-settings.ts';
import type { Person } from '../keys/api-key.ts';
import type { Rights } from '../keys/rights.ts';
import type { TenantOfLogin } from './login.ts';
import type { From } from './session.ts';

/** A grant in a tenant that there is. */
export interface Place extends Grant {
  tenantId: string | null;
  /** Null for the platform. */
  tenantStatus: TenantStatus | null;
}

export interface PersonPlacesDependencies {
  findTenants: (slugs: readonly string[]) => Promise<TenantOfLogin[]>;
  /** Revokes the keys of a person that have rights beyond these. */
  keepOnly: (person: Person, rights: readonly Rights[], from: From) => Promise<void>;
}

/** The places where people have rights, by the mappings of now. */
export class PersonPlaces {
  readonly #options: PersonPlacesDependencies;

  constructor(options: PersonPlacesDependencies) {
    this.#options = options;
  }

  /**
   * The places of a person, at least one. Rights that the person no longer has are taken away; a token whose groups can't
   * be read takes none.
   */
  async settle(
    settings: IssuerSettings,
    { iss, sub }: Person,
    claims: Claims,
    from: From,
  ): Promise<readonly Place[] | GrantProblem> {
    const granted = grantsOf(claims, settings);
    if (!isGrants(granted) && isUnread(granted)) return granted;
    const grants = isGrants(granted) ? granted : [];
    const slugs = grants.flatMap(({ tenant }) => tenant ?? []);
    const tenants = new Map((await this.#options.findTenants(slugs)).map((one) => [one.slug, one]));
    const places = grants.flatMap((grant): Place[] => {
      if (grant.tenant === null) return [{ ...grant, tenantId: null, tenantStatus: null }];
      const tenant = tenants.get(grant.tenant);
      return tenant === undefined ? [] : [{ ...grant, tenantId: tenant.id, tenantStatus: tenant.status }];
    });
    await this.#options.keepOnly({ iss, sub }, places, from);
    if (!isGrants(granted)) return granted;
    return places.length === 0 ? { kind: 'no_tenant', tenants: slugs } : places;
  }
}

export function isPlaces(given: readonly Place[] | GrantProblem): given is readonly Place[] {
  return Array.isArray(given);
}
