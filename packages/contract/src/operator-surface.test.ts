import { expect, it } from '@jest/globals';
import { isClosedToRelay, isOperatorSurface } from './operator-surface.ts';

it.each([
  ['POST', '/v1/mcp/servers', true],
  ['HEAD', '/v1/mcp/servers', true],
  ['DELETE', '/v1/mcp/servers/{id}', true],
  ['GET', '/v1/mcp/servers', false],
  ['GET', '/v1/mcp/servers/{id}', false],
  ['POST', '/v1/mcp/serversx', false],
  ['POST', '/v1/mcp', false],
  ['GET', '/v1/tenant/resource-transfers', true],
  ['POST', '/v1/tenant/resource-transfers/previews/{id}/accept', true],
  ['POST', '/v1/tenant', false],
  ['GET', '/internal/v1/owner/tenants', false],
])('%s %s is on the operator surface: %j', (method, path, expected) => {
  expect(isOperatorSurface(method, path)).toBe(expected);
  expect(isClosedToRelay(method, path)).toBe(expected || path.startsWith('/internal'));
});

it('closes all of /internal and /scim to the relay, and what is only called alike not', () => {
  expect(isClosedToRelay('GET', '/scim/v2/Users')).toBe(true);
  expect(['/internal', '/internal/', '/internal/x'].map((path) => isClosedToRelay('GET', path))).toEqual([
    true,
    true,
    true,
  ]);
  expect(['/internals', '/v1/internal', ''].map((path) => isClosedToRelay('GET', path))).toEqual([
    false,
    false,
    false,
  ]);
});
