import { describe, expect, it } from '@jest/globals';
import { mcpAuth, type McpAuthView } from '@gatehouse/contract/mcp-auth';
import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { authOf, isAuthSent, isSecretRepeated, newServer, serverDraft } from './mcp-server-draft.ts';

const at = '2026-01-10T09:00:00.000Z';
const stored = (auth: McpAuthView) => {
  const server: WireMcpServer = {
    ...{ id: '0198c2b0-3d5a-7a41-8f2e-6b1c9d0e4f32', name: 'tickets', url: 'https://mcp.example.com/mcp' },
    ...{ transport: 'auto', timeout_ms: 60_000, enabled: true, trust: 'pin', auth, status: 'connected' },
    ...{ tool_filter: { allow: [], deny: [] }, status_reason: null, protocol_version: null, tools: [] },
    ...{ tools_updated_at: at, created_at: at, updated_at: at },
  };
  return serverDraft(server);
};
const headers = stored({
  type: 'headers',
  headers: [
    { name: 'X-Key', set: true },
    { name: 'X-Two', set: true },
  ],
});
const machine = stored({
  ...{ type: 'oauth_client_credentials', client_id: 'gw', client_secret_set: true, scope: 'read' },
});
const login = stored({
  ...{ type: 'oauth', per_user: false, client_id: 'gw', client_secret_set: true, scope: null },
});
const bearer = stored({ type: 'bearer', token_set: true });

describe('the authentication of a server', () => {
  it.each([
    [{ login: 'none' as const }, { type: 'none' }],
    [
      { login: 'bearer' as const, secret: 'abc' },
      { type: 'bearer', token: 'abc' },
    ],
    [
      { login: 'headers' as const, headers: ['X-Key: a:b', ' ', 'X-Two:c'] },
      { type: 'headers', headers: { 'X-Key': 'a:b', 'X-Two': 'c' } },
    ],
    [{ login: 'oauth' as const }, { type: 'oauth', per_user: false }],
    [
      { login: 'oauth_per_user' as const, client: 'id', secret: 's', scope: 'read' },
      { type: 'oauth', per_user: true, client_id: 'id', client_secret: 's', scope: 'read' },
    ],
  ])('of %j', (change, auth) => {
    const made = authOf({ ...newServer, ...change });
    expect(made).toEqual(auth);
    expect(mcpAuth.safeParse(made).success).toBe(true);
  });

  it.each([
    ['X-Key', '“X-Key” is no header'],
    [': value', '“: value” is no header'],
    ['X-Key:', 'X-Key has no value'],
    ['x-two: again', 'x-two is there twice'],
  ])('is not sent without the line %j, which is named', (line, message) => {
    const draft = { ...newServer, login: 'headers' as const, headers: ['X-Two: c', line] };
    expect(() => authOf(draft)).toThrow(message);
  });
});

describe('a change of a server', () => {
  it.each([headers, machine, login, bearer])(
    'of $login sends no authentication with other members',
    (draft) => {
      const named = { ...draft, name: 'other', timeout_ms: '100', url: 'https://mcp.example.com/other' };
      expect(isAuthSent(draft, named)).toBe(false);
      expect(isSecretRepeated(draft, named)).toBe(false);
    },
  );

  it.each([
    ['scopes', machine, { scope: 'read write' }],
    ['scopes of a login', login, { scope: 'read' }],
    ['whose login it is', login, { login: 'oauth_per_user' as const }],
    ['the origin', bearer, { url: 'https://other.example.com/mcp' }],
    ['the origin, for headers', headers, { url: 'https://other.example.com/mcp' }],
    ['a header', headers, { headers: ['X-Key: new', 'X-Two:'] }],
  ])('of %s needs the stored secret again, so that it is not lost', (_, draft, change) => {
    const changed = { ...draft, ...change };
    expect(isAuthSent(draft, changed)).toBe(true);
    expect(isSecretRepeated(draft, changed)).toBe(true);
  });

  it('of one header sends no authentication without the values of the others', () => {
    expect(() => authOf({ ...headers, headers: ['X-Key: new', 'X-Two:'] })).toThrow('X-Two has no value');
  });

  it.each([
    ['another token', bearer, { secret: 'new' }],
    ['another login', bearer, { login: 'none' as const }],
    ['another client', login, { client: 'other' }],
  ])('to %s sends it, without the secret from before', (_, draft, change) => {
    const changed = { ...draft, ...change };
    expect(isAuthSent(draft, changed)).toBe(true);
    expect(isSecretRepeated(draft, changed)).toBe(false);
  });
});
