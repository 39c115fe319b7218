import { isFields } from '@gatehouse/kit/fields';
import { claimAt, type Claims } from './claim-path.ts';
import type { guardedFetch } from './guarded-fetch.ts';
import { IssuerError } from './issuer-error.ts';
import type { IssuerSettings } from './issuer-settings.ts';

/** Claims of the userinfo endpoint: https://openid.net/specs/openid-connect-core-1_0.html#UserInfo */

type ClaimSettings = Pick<IssuerSettings, 'mappings' | 'owner_groups' | 'groups_claim' | 'user_claim'>;

/**
 * Claims that the settings name and that are missing. Left out groups aren't: the issuer names another place for them.
 * Groups without a mapping aren't either.
 */
export function missingClaims(claims: Claims, settings: ClaimSettings): string[] {
  const { groups_claim: groups, user_claim: user, mappings, owner_groups: ownerGroups } = settings;
  const usesGroups = ownerGroups.length > 0 || mappings.some(({ group }) => group !== undefined);
  const names = new Set([
    ...(usesGroups ? [groups] : []),
    user,
    ...mappings.flatMap(({ claim }) => claim?.name ?? []),
  ]);
  const elsewhere = claims['_claim_names'];
  if (claims['hasgroups'] === true || (isFields(elsewhere) && Object.hasOwn(elsewhere, groups)))
    names.delete(groups);
  return [...names].filter((name) => claimAt(claims, name) === undefined);
}

/** Names of a person, and of groups that are left out. */
const besides = ['name', 'preferred_username', 'email', '_claim_names'] as const;

/**
 * The missing claims of an ID token, and names of the person, as user info has them: under the whole path of each, so that
 * an object in the ID token hides nothing.
 */
export function addedClaims(claims: Claims, info: Claims, missing: readonly string[]): Claims {
  const added = [...missing, ...besides].map((name) => [name, claimAt(info, name)] as const);
  return Object.fromEntries(
    added.filter(([name, value]) => value !== undefined && claimAt(claims, name) === undefined),
  );
}

export interface UserInfoRequest {
  fetch: ReturnType<typeof guardedFetch>;
  endpoint: string;
  accessToken: string;
  sub: string;
  /** The members of a JWT that the issuer has signed. */
  verify: (jwt: string) => Promise<Claims>;
}

/**
 * The claims of the person of an access token, as JSON or as a signed JWT. Null if the token isn't good for it,
 * as where it is for another API. Throws {@link IssuerError}: `refused` if it is about another person.
 */
export async function fetchUserInfo(request: UserInfoRequest): Promise<Claims | null> {
  const { fetch, endpoint, accessToken, sub, verify } = request;
  const headers = { authorization: `Bearer ${accessToken}`, accept: 'application/json, application/jwt' };
  const response = await fetch(endpoint, { headers });
  if (response.status === 401 || response.status === 403) return null;
  if (response.status !== 200)
    throw new IssuerError('away', `The issuer returned ${response.status} for user info.`);
  const text = await response.text();
  const isJwt = /^application\/jwt\b/i.test(response.headers.get('content-type') ?? '');
  const info = isJwt ? await verify(text) : parsed(text);
  if (!isFields(info)) throw new IssuerError('away', 'The issuer returned no object as user info.');
  if (info['sub'] !== sub) throw new IssuerError('refused', 'The user info is about another person.');
  return info;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new IssuerError('away', 'The issuer returned no JSON as user info.', { cause: error });
  }
}
