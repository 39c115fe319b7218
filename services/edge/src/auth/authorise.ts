import type { Route } from '@gatehouse/contract/routes';
import { checkAccess } from '@gatehouse/http/principal-check';
import type { Principal } from '@gatehouse/identity/principal';
import { actingUser, actingUserHeader } from './acting-user.ts';

/**
 * Throws a 403 unless the key's role and scopes open the route and it may act for the user that the request names.
 * Returns the principal with that user.
 */
export function authorise(
  principal: Principal,
  route: Route,
  valuesOf: (header: string) => readonly string[] | undefined,
): Principal {
  checkAccess(principal, route.access);
  if (!route.actingUser) return principal;
  const user = actingUser(valuesOf(actingUserHeader), principal.boundUser);
  return user === principal.userId ? principal : { ...principal, userId: user };
}
