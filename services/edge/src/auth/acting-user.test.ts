import { describe, expect, it } from '@jest/globals';
import { routes } from '@gatehouse/contract/routes';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import { withDirectoryUsers, withUserFilter } from './acting-user.ts';

const ids = { ada: 'ada', 'ada@example.com': 'ada', max: 'max' };
const users = {
  find: (tenantId: string, name: string) => {
    if (name.toLowerCase() === 'eve') throw new AppError('user_blocked', 'Blocked.');
    const userId = ids[name.toLowerCase() as keyof typeof ids] as string | undefined;
    return userId === undefined ? null : { id: `${tenantId} ${userId}`, userId, groups: [] };
  },
};
const actingRoute = routes.find(({ actingUser }) => actingUser);
const otherRoute = routes.find(({ actingUser }) => !actingUser);

const base = {
  ...{
    keyId: 'k',
    tenantId: 't',
    tenantSlug: 't',
    role: 'user' as const,
    scopes: [],
    hasUsers: true as const,
  },
};

/** The users of a request with a key of `bound`, and these values of the header. */
async function usersOf(
  bound: string | null,
  values?: string[],
  route = actingRoute,
): Promise<Pick<Principal, 'boundUser' | 'userId'>> {
  if (route === undefined) throw new Error('there is no such route');
  const principal = { ...base, boundUser: bound, userId: bound };
  const target = { route, valuesOf: () => values };
  const request = { requestId: 'r', trace: { traceId: '1', spanId: '2', sampled: false } };
  const { boundUser, userId } = await withDirectoryUsers(users, principal, target, request as never);
  return { boundUser, userId };
}

describe('the users of a request in a tenant with a directory', () => {
  it.each([
    [null, ['Ada@Example.com'], { boundUser: null, userId: 'ada' }],
    [null, ['stranger'], { boundUser: null, userId: 'stranger' }],
    ['ada@example.com', undefined, { boundUser: 'ada', userId: 'ada' }],
    ['ada@example.com', ['ADA'], { boundUser: 'ada', userId: 'ada' }],
    [null, undefined, { boundUser: null, userId: null }],
  ])('of a key bound to %s with the header %j are %j', async (bound, values, expected) => {
    expect(await usersOf(bound, values)).toEqual(expected);
  });

  it('are refused where one is blocked, or the two differ', async () => {
    await expect(usersOf('eve')).rejects.toMatchObject({ code: 'user_blocked' });
    await expect(usersOf(null, ['EVE'])).rejects.toMatchObject({ code: 'user_blocked' });
    await expect(usersOf('ada', ['max'])).rejects.toMatchObject({ code: 'user_mismatch' });
    await expect(usersOf('ada', ['ada', 'max'])).rejects.toMatchObject({ code: 'user_mismatch' });
  });

  it('are the bound one alone on routes without an acting user, and a wrong header is looked up nowhere', async () => {
    expect(await usersOf('ADA@example.com', ['eve'], otherRoute)).toEqual({
      boundUser: 'ada',
      userId: 'ada',
    });
    expect(await usersOf(null, ['eve', 'eve'])).toMatchObject({ userId: 'eve' });
  });
});

describe('the filter of runs by a user', () => {
  const filtered = (url: string): Promise<string> =>
    withUserFilter(url, async (name) =>
      Promise.resolve((ids[name.toLowerCase() as keyof typeof ids] as string | undefined) ?? name),
    );

  it.each([
    ['/v1/traces?user_id=ADA%40example.com&limit=5', '/v1/traces?user_id=ada&limit=5'],
    ['/v1/traces?model=a+b&user%5Fid=ada@example.com', '/v1/traces?model=a+b&user_id=ada'],
  ])('of %s has the id of the user: %s', async (url, expected) => {
    expect(await filtered(url)).toBe(expected);
  });

  it.each([
    '/v1/traces',
    '/v1/traces?q=ada@example.com',
    '/v1/traces?user_id=max&q=%zz',
    '/v1/traces?user_id=stranger',
    '/v1/traces?user_id=ada@example.com&user_id=max',
    '/v1/traces?user_id=%C3%A4',
  ])('stays in %s', async (url) => {
    expect(await filtered(url)).toBe(url);
  });
});
