import { describe, expect, it } from '@jest/globals';
import { grants, mayGiveScope, possibleScopes, roles, scopes, scopesOf, type Scope } from './scopes.ts';

describe('scopes', () => {
  it.each<[readonly Scope[], Scope, boolean]>([
    [['agents.read'], 'agents.read', true],
    [['agents.write'], 'agents.read', true],
    [['agents.write'], 'agents.write', true],
    [['agents.read'], 'agents.write', false],
    [['memory.write'], 'agents.read', false],
    [['analytics.read'], 'analytics.read', true],
    [['chat'], 'agents.read', false],
    [['keys.write'], 'chat', false],
    [[], 'chat', false],
  ])('%j grant %s: %s', (granted, wanted, expected) => {
    expect(grants(granted, wanted)).toBe(expected);
  });

  it('are granted by having them, or the writing half of the same thing, and in no other way', () => {
    for (const wanted of scopes) {
      const granting = scopes.filter((scope) => grants([scope], wanted));
      const [thing, verb] = wanted.split('.');
      const expected = scopes.filter(
        (scope) => scope === wanted || (verb === 'read' && scope === `${String(thing)}.write`),
      );
      expect(granting).toEqual(expected);
    }
  });

  it('can be given by keys that have them, that of SCIM by keys that change users, and calls by keys of servers', () => {
    const wider: Partial<Record<Scope, Scope>> = { 'scim.write': 'users.write', 'tools.call': 'mcp.write' };
    for (const given of scopes) {
      const giving = scopes.filter((scope) => mayGiveScope([scope], given));
      const granting = scopes.filter((scope) => grants([scope], given));
      const expected = scopes.filter((scope) => granting.includes(scope) || scope === wider[given]);
      expect(giving).toEqual(expected);
    }
  });

  it('of the roles are those of the contract', () => {
    expect(scopesOf('admin')).toEqual(scopes.filter((scope) => scope !== 'scim.write'));
    expect(possibleScopes('admin')).toEqual(scopes);
    expect(possibleScopes('user')).toEqual(scopesOf('user'));
    expect(scopesOf('owner')).toEqual(['transfers.write']);
    expect([...scopesOf('user')].sort()).toEqual(
      [
        'agents.read',
        'analytics.read',
        'chat',
        'cookies.write',
        'memory.read',
        'memory.write',
        'runs.write',
        'tools.call',
      ].sort(),
    );
    for (const role of roles) expect(scopes).toEqual(expect.arrayContaining([...scopesOf(role)]));
  });
});
