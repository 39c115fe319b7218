import type { Route } from '@gatehouse/contract/routes';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';

export const actingUserHeader = 'x-service-user-id';

const printable = /^[\x20-\x7e]{1,255}$/;

/** Principal with the user the request acts for, on routes with one. Throws as `actingUser`. */
export function withActingUser(
  principal: Principal,
  route: Route,
  valuesOf: (header: string) => readonly string[] | undefined,
): Principal {
  if (!route.actingUser) return principal;
  const user = actingUser(valuesOf(actingUserHeader), principal.boundUser);
  return user === principal.userId ? principal : { ...principal, userId: user };
}

/**
 * User a request acts for: the one the key is bound to, otherwise the one in the header. `values`: every value of the
 * header. Throws `user_mismatch` when a bound key's header names another user.
 */
function actingUser(values: readonly string[] | undefined, boundUser: string | null): string | null {
  if (values === undefined) return boundUser;
  if (boundUser !== null && values.some((value) => value !== boundUser)) {
    throw new AppError(
      'user_mismatch',
      'X-Service-User-Id names another user than the one that the API key is bound to.',
      { param: 'X-Service-User-Id' },
    );
  }
  return boundUser ?? values[0] ?? null;
}

/** Throws a 400 unless the header was sent at most once, with 1 to 255 printable ASCII characters. */
export function checkActingUserHeader(values: readonly string[] | undefined): void {
  if (values === undefined) return;
  const [value] = values;
  if (values.length === 1 && value !== undefined && printable.test(value)) return;
  throw new AppError(
    'invalid_value',
    'X-Service-User-Id must be sent once, with 1 to 255 printable ASCII characters.',
    { param: 'X-Service-User-Id' },
  );
}
