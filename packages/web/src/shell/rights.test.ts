import { expect, it } from '@jest/globals';
import type { Scope } from '@gatehouse/contract/scopes';
import { writtenScope } from './rights.ts';

it.each<[string, Scope[], string | null, string | null]>([
  ['an admin', ['memory.write', 'agents.write'], null, 'agent'],
  ['an admin with a user', ['memory.write', 'agents.write'], 'ada', 'user'],
  ['a user', ['memory.write'], 'ada', 'user'],
  ['a key without a user', ['memory.write'], null, null],
  ['a reader', ['memory.read', 'agents.write'], 'ada', null],
])('the memory written by %s with %j and the user %j is that of %j', (_, scopes, user_id, scope) => {
  expect(writtenScope({ role: 'user', scopes, user_id })).toBe(scope);
});
