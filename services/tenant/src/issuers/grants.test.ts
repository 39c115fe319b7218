import { describe, expect, it } from '@jest/globals';
import { claimAt } from './claim-path.ts';
import { grantsOf, unitedToolsets } from './grants.ts';
import type { Mapping } from './issuer-settings.ts';

describe('a claim by its path', () => {
  const claims = {
    groups: ['a'],
    'https://x.example/groups': ['b'],
    realm_access: { roles: ['c'], 'x.y': { z: 'd' } },
    'realm_access.roles.own': 'e',
    resource_access: { 'my.client': { roles: ['f'] }, my: { client: 'g' } },
    empty: { '': 'h' },
    none: null,
  };

  it.each<[string, unknown]>([
    ['groups', ['a']],
    ['https://x.example/groups', ['b']],
    ['realm_access.roles', ['c']],
    ['realm_access.x.y.z', 'd'],
    ['realm_access.roles.own', 'e'],
    ['resource_access.my.client.roles', ['f']],
    ['resource_access.your.client.roles', undefined],
    ['groups.0', undefined],
    ['groups.length', undefined],
    ['none', null],
    ['none.x', undefined],
    ['constructor', undefined],
    ['realm_access.constructor.name', undefined],
    ['', undefined],
    ['.', undefined],
    ['..', undefined],
    ['realm_access.', undefined],
  ])('%s', (path, expected) => {
    expect(claimAt(claims, path)).toEqual(expected);
  });

  it('is read at once, however many dots it has', () => {
    let nested: unknown = 'x';
    for (let depth = 0; depth < 64; depth += 1) nested = { a: nested };
    const start = performance.now();
    expect(claimAt(nested, `a${'.a'.repeat(63)}`)).toBe('x');
    expect(performance.now() - start).toBeLessThan(100);
  });
});

it('toolsets of mappings are united, without those beyond the most of a key', () => {
  expect(unitedToolsets(null, null)).toBeNull();
  expect(unitedToolsets(null, ['b'])).toEqual(['b']);
  expect(unitedToolsets(['b', 'a'], ['a', 'c'])).toEqual(['a', 'b', 'c']);
  const many = Array.from({ length: 50 }, (_, n) => `t${n + 10}`);
  expect(unitedToolsets(many, ['a', 'z'])).toEqual(['a', ...many.slice(0, 49)]);
});

describe('groups', () => {
  const staff: Mapping = { group: 'staff', tenant: 'acme', role: 'admin' };
  const settings = { mappings: [staff], owner_groups: [], groups_claim: 'groups', user_claim: 'sub' };
  const read = (claims: object, fields: Partial<typeof settings> = {}) =>
    grantsOf({ sub: 'ada', ...claims }, { ...settings, user_prefix: undefined, ...fields });
  const granted = [expect.objectContaining({ tenant: 'acme', role: 'admin' })];

  it.each<[string, object, string]>([
    ['a list', { groups: ['staff'] }, 'groups'],
    ['a text', { groups: 'staff' }, 'groups'],
    ['roles of a realm of Keycloak', { realm_access: { roles: ['staff', 'x'] } }, 'realm_access.roles'],
    ['roles of a client', { resource_access: { 'a.b': { roles: ['staff'] } } }, 'resource_access.a.b.roles'],
    [
      'an object of Zitadel',
      { 'urn:zitadel:iam:org:project:roles': { staff: { 1: 'acme.example' } } },
      'urn:zitadel:iam:org:project:roles',
    ],
  ])('may be %s', (_what, claims, name) => {
    expect(read(claims, { groups_claim: name })).toEqual(granted);
  });

  it('are not those of an object that are false or null', () => {
    expect(read({ groups: { staff: false, other: null, third: true } })).toMatchObject({ groups: ['third'] });
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'groups_unreadable'],
    ['a number', 7, 'groups_unreadable'],
    ['a list of objects', [{ name: 'staff' }], 'groups_unreadable'],
    ['too many', Array(2_001).fill('staff'), 'groups_unreadable'],
    [
      'too many of an object',
      Object.fromEntries(Array.from({ length: 2_001 }, (_, n) => [n, {}])),
      'groups_unreadable',
    ],
    ['nothing', [], 'no_mapping'],
  ])('that are %s give nothing', (_what, groups, kind) => {
    expect(read({ groups })).toMatchObject({ kind });
    const nested = read({ realm_access: { roles: groups } }, { groups_claim: 'realm_access.roles' });
    expect(nested).toMatchObject({ kind });
  });

  it('that are missing are looked for in claims with lists, by name', () => {
    const elsewhere = {
      aud: ['x'],
      amr: ['pwd'],
      realm_access: { roles: ['staff'] },
      ids: [7],
      roles: ['staff'],
    };
    expect(read(elsewhere)).toEqual({
      ...{ kind: 'no_mapping', groups: [], lists: ['realm_access.roles', 'roles'] },
    });
    expect(read({ groups: ['other'], roles: ['staff'] })).toEqual({
      ...{ kind: 'no_mapping', groups: ['other'], lists: [] },
    });
  });

  it('may stand beside claims of mappings and users with a path', () => {
    const mapping: Mapping = { claim: { name: 'org.unit', value: 'R&D' }, tenant: 'labs', role: 'user' };
    const claims = { org: { unit: ['R&D'] }, person: { email: 'ada@example.com' } };
    const fields = { mappings: [mapping], user_claim: 'person.email' };
    expect(read(claims, fields)).toMatchObject([{ tenant: 'labs', userId: 'ada@example.com' }]);
  });
});
