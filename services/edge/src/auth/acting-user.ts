import type { Route } from '@gatehouse/contract/routes';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import type { RequestIds } from './authenticator.ts';

export const actingUserHeader = 'x-service-user-id';

const printable = /^[\x20-\x7e]{1,255}$/;

/** Finds users of a tenant's directory by their names; null for a name outside it. Throws `user_blocked`. */
export interface UserFinder {
  find: (
    tenantId: string,
    name: string,
    ids: RequestIds,
  ) => { userId: string } | null | Promise<{ userId: string } | null>;
}

type ValuesOf = (header: string) => readonly string[] | undefined;

/** Principal with the user the request acts for, on routes with one. Throws as `actingUser`. */
export function withActingUser(principal: Principal, route: Route, valuesOf: ValuesOf): Principal {
  if (!route.actingUser) return principal;
  const user = actingUser(valuesOf(actingUserHeader), principal.boundUser);
  return user === principal.userId ? principal : { ...principal, userId: user };
}

/**
 * The same for a tenant with a directory of users: the key's user and the acting one by
 * their ids in the directory. Also throws `user_blocked`.
 */
export async function withDirectoryUsers(
  users: UserFinder,
  principal: Principal & { tenantId: string },
  { route, valuesOf }: { route: Route; valuesOf: ValuesOf },
  ids: RequestIds,
): Promise<Principal> {
  const idOf = async (name: string): Promise<string> =>
    (await users.find(principal.tenantId, name, ids))?.userId ?? name;
  const { boundUser: boundName } = principal;
  const boundUser = boundName === null ? null : await idOf(boundName);
  const [value, another] = route.actingUser ? (valuesOf(actingUserHeader) ?? []) : [];
  // A malformed header names no user; its check refuses the request.
  const isName = value !== undefined && another === undefined && printable.test(value);
  const named = isName ? [await idOf(value)] : valuesOf(actingUserHeader);
  return withActingUser({ ...principal, boundUser, userId: boundUser }, route, () => named);
}

/**
 * Path and query with the id of the user in place of another name in `user_id`, a filter. `idOf`: the id of a
 * user by any name, or the name itself.
 */
export async function withUserFilter(url: string, idOf: (name: string) => Promise<string>): Promise<string> {
  const start = url.indexOf('?');
  if (start === -1) return url;
  const query = new URLSearchParams(url.slice(start));
  const [name, another] = query.getAll('user_id');
  // The service refuses a malformed name, and a repeated one.
  if (name === undefined || another !== undefined || !printable.test(name)) return url;
  const userId = await idOf(name);
  if (userId === name) return url;
  query.set('user_id', userId);
  return `${url.slice(0, start)}?${query.toString()}`;
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

/** A user as it may be counted; null for a header that is refused, which may have thousands of characters. */
export function countedUser(user: string | null): string | null {
  return user !== null && printable.test(user) ? user : null;
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
