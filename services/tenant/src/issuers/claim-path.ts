import { isFields } from '@gatehouse/kit/fields';
import { maxListNames } from '../bounds.ts';

/** Members of a verified ID token, or of user info. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * The value of a claim by its name, or by the names on the way to it, separated by dots: `realm_access.roles`. A name may
 * have dots itself, as URLs and ids of clients have: the longest one counts. Undefined without the claim.
 */
export function claimAt(claims: unknown, path: string): unknown {
  if (!isFields(claims)) return undefined;
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const name = path.slice(0, end);
    if (Object.hasOwn(claims, name))
      return end === path.length ? claims[name] : claimAt(claims[name], path.slice(end + 1));
  }
  return undefined;
}

/** Paths of claims that hold lists of texts: the groups may be in one of them. */
export function listClaims(claims: Claims, depth = 0): string[] {
  const paths = Object.entries(claims).flatMap(([name, value]) => {
    if (Array.isArray(value))
      return value.length > 0 && value.every((each) => typeof each === 'string') ? [name] : [];
    if (!isFields(value) || depth > 1) return [];
    return listClaims(value, depth + 1).map((path) => `${name}.${path}`);
  });
  return paths.filter((path) => path.length <= 128 && !notGroups.has(path)).slice(0, maxListNames);
}

/** Lists of texts in each token: https://openid.net/specs/openid-connect-core-1_0.html#IDToken */
const notGroups: ReadonlySet<string> = new Set(['aud', 'amr']);
