import { describe, expect, it } from '@jest/globals';
import type { TenantPrincipal } from '@gatehouse/identity/principal';
import { viewerOf } from './viewer.ts';

const principal: TenantPrincipal = {
  keyId: 'k',
  tenantId: 't',
  tenantSlug: 'acme',
  role: 'user',
  scopes: [],
  boundUser: null,
  userId: null,
};

describe('what a principal sees', () => {
  it.each([
    ['admin', null, true],
    ['admin', 'ann', false],
    ['user', null, false],
    ['user', 'ann', false],
  ] as const)('as %s acting for %s is everything: %s', (role, userId, seesAll) => {
    expect(viewerOf({ ...principal, role, userId })).toEqual({
      tenantId: 't',
      seesAll,
      user: userId,
    });
  });
});
