import { maxToolsetsOfKey } from '@gatehouse/contract/keys';
import { scopes as allScopes, scopesOf, type Role, type Scope } from '@gatehouse/contract/scopes';
import { isFields } from '@gatehouse/kit/fields';
import { maxGroups } from '../bounds.ts';
import { noProgramRights, type ProgramRights } from '../keys/api-key.ts';
import { claimAt, listClaims, type Claims } from './claim-path.ts';
import type { IssuerSettings, Mapping } from './issuer-settings.ts';

/** The rights that mappings give a person in one tenant, or as an owner of the platform. */
export interface Grant extends ProgramRights {
  /** The tenant as the mapping names it, by id or slug; null for an owner. */
  tenant: string | null;
  role: Role;
  scopes: readonly Scope[];
  /** The user of a session; null for admins and owners, who see all users. */
  userId: string | null;
}

export type GrantProblem =
  /** The issuer names a place for the groups instead of the groups. */
  | { kind: 'groups_left_out' }
  /** The claim of groups is no list of names, or is too long. */
  | { kind: 'groups_unreadable' }
  /** The claim with the name of the user is missing, or can be no user id. */
  | { kind: 'no_user' }
  /** `lists`: paths of claims that may have groups, where the claim of groups is missing or empty. */
  | { kind: 'no_mapping'; groups: readonly string[]; lists: readonly string[] }
  /** The mappings name missing tenants. */
  | { kind: 'no_tenant'; tenants: readonly string[] };

/** A problem by which the token says nothing about the groups of the person. */
export type UnreadGroups = Extract<GrantProblem, { kind: 'groups_left_out' | 'groups_unreadable' }>;

export function isUnread(problem: GrantProblem): problem is UnreadGroups {
  return problem.kind === 'groups_left_out' || problem.kind === 'groups_unreadable';
}

/** The grants of a person, one for each tenant, or the reason for their absence. */
export function grantsOf(
  claims: Claims,
  settings: Pick<IssuerSettings, 'mappings' | 'owner_groups' | 'groups_claim' | 'user_claim' | 'user_prefix'>,
): readonly Grant[] | GrantProblem {
  const groups = groupsOf(claims, settings.groups_claim);
  if (!Array.isArray(groups)) return groups;
  const has = new Set<string>(groups);
  const matching = settings.mappings.filter((mapping) => matches(mapping, claims, has));
  const isOwner = settings.owner_groups.some((group) => has.has(group));
  if (matching.length === 0 && !isOwner)
    return { kind: 'no_mapping', groups: [...has], lists: has.size > 0 ? [] : listClaims(claims) };
  const userId = userOf(claimAt(claims, settings.user_claim), settings.user_prefix);
  const granted = [...Map.groupBy(matching, ({ tenant }) => tenant)].map(([tenant, mappings]) =>
    grantIn(tenant, mappings, userId),
  );
  if (userId === null && granted.some(({ role }) => role === 'user')) return { kind: 'no_user' };
  const scopes = scopesOf('owner');
  const owner: Grant = { tenant: null, role: 'owner', scopes, userId: null, ...noProgramRights };
  return isOwner ? [...granted, owner] : granted;
}

export function isGrants(result: readonly Grant[] | GrantProblem): result is readonly Grant[] {
  return Array.isArray(result);
}

/** The higher role counts, with the scopes and toolsets of all its mappings, and the first settings. */
function grantIn(tenant: string, mappings: readonly Mapping[], userId: string | null): Grant {
  const role = mappings.some((mapping) => mapping.role === 'admin') ? 'admin' : 'user';
  const roleMappings = mappings.filter((mapping) => mapping.role === role);
  const requested = new Set(roleMappings.flatMap(({ scopes }) => scopes ?? scopesOf(role)));
  const scopes = allScopes.filter((scope) => requested.has(scope));
  const toolsets = roleMappings
    .map((mapping): readonly string[] | null => mapping.toolsets ?? null)
    .reduce(unitedToolsets);
  const clientSettings =
    roleMappings.find((mapping) => mapping.client_settings !== undefined)?.client_settings ?? null;
  return { tenant, role, scopes, userId: role === 'user' ? userId : null, toolsets, clientSettings };
}

/**
 * The toolsets of two mappings: null where neither names any. Names beyond the most of a key are left out, the last in
 * the order of the alphabet.
 */
export function unitedToolsets(
  one: readonly string[] | null,
  other: readonly string[] | null,
): readonly string[] | null {
  if (one === null || other === null) return one ?? other;
  return [...new Set([...one, ...other])].toSorted().slice(0, maxToolsetsOfKey);
}

/** The groups in the claims of a person; null if they are unreadable. */
export function groupsIn(
  claims: Claims,
  { groups_claim: name }: Pick<IssuerSettings, 'groups_claim'>,
): string[] | null {
  const groups = groupsOf(claims, name);
  return Array.isArray(groups) ? groups : null;
}

function matches({ group, claim }: Mapping, claims: Claims, groups: ReadonlySet<string>): boolean {
  if (group !== undefined) return groups.has(group);
  return claim !== undefined && [claimAt(claims, claim.name)].flat().includes(claim.value);
}

function groupsOf(claims: Claims, name: string): string[] | GrantProblem {
  const claim = claimAt(claims, name);
  // Entra leaves more than about 200 groups out, and names where to ask for them (OpenID Connect Core, 5.6.2).
  const isElsewhere = Object.hasOwn(Object(claims['_claim_names']) as object, name);
  if (claim === undefined && (isElsewhere || claims['hasgroups'] === true))
    return { kind: 'groups_left_out' };
  const groups = claim === undefined ? [] : isFields(claim) ? namesIn(claim) : [claim].flat();
  const isList = groups.length <= maxGroups && groups.every((group) => typeof group === 'string');
  return isList ? groups : { kind: 'groups_unreadable' };
}

/** Groups as members of an object, as Zitadel has roles: `{"<role>": {"<organisation>": "<domain>"}}`. */
function namesIn(claim: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(claim).filter((name) => claim[name] !== false && claim[name] !== null);
}

/** As `X-Service-User-Id` may have it, after the prefix of the issuer. */
function userOf(claim: unknown, prefix = ''): string | null {
  if (typeof claim !== 'string' || claim.trim() === '') return null;
  const user = prefix + claim;
  return /^[\x20-\x7e]{1,255}$/.test(user) ? user : null;
}

/** The name of a person, for lists of sessions and keys. */
export function nameOf(claims: Claims): string {
  const names = ['name', 'preferred_username', 'email', 'sub'].map((claim) => claims[claim]);
  const name = names.find((text) => typeof text === 'string' && text.trim() !== '') as string | undefined;
  const displayName = (name ?? '')
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .trim();
  // Keeps no half of a surrogate pair.
  return displayName.slice(0, 60).replace(/[\uD800-\uDBFF]$/, '');
}
