import { describe, expect, it } from '@jest/globals';
import { authOf, isAuthChanged, newServer } from './mcp-server-draft.ts';

describe('the authentication of a server', () => {
  it.each([
    [{ login: 'none' as const }, { type: 'none' }],
    [
      { login: 'bearer' as const, secret: 'abc' },
      { type: 'bearer', token: 'abc' },
    ],
    [
      { login: 'headers' as const, headers: ['X-Key: a:b', 'no header', 'X-Two:c'] },
      { type: 'headers', headers: { 'X-Key': 'a:b', 'X-Two': 'c' } },
    ],
    [{ login: 'oauth' as const }, { type: 'oauth', per_user: false }],
    [
      { login: 'oauth_per_user' as const, client: 'id', secret: 's', scope: 'read' },
      { type: 'oauth', per_user: true, client_id: 'id', client_secret: 's', scope: 'read' },
    ],
  ])('of %j', (change, auth) => {
    expect(authOf({ ...newServer, ...change })).toEqual(auth);
  });

  it('changes only when a person types something', () => {
    const stored = { ...newServer, login: 'bearer' as const };
    expect(isAuthChanged(stored, { ...stored, name: 'other' })).toBe(false);
    expect(isAuthChanged(stored, { ...stored, secret: 'new' })).toBe(true);
  });
});
