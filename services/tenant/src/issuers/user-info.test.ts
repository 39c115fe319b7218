import { expect, it } from '@jest/globals';
import { missingClaims } from './user-info.ts';

const settings = { mappings: [], owner_groups: [], groups_claim: 'groups', user_claim: 'sub' };
const place = { tenant: 'acme', role: 'user' } as const;
const byClaim = { ...place, claim: { name: 'department', value: 'R&D' } };

it.each([
  ['neither does', { mappings: [byClaim] }, ['department']],
  ['a mapping does', { mappings: [byClaim, { ...place, group: 'engineers' }] }, ['groups', 'department']],
  ['owners do', { mappings: [byClaim], owner_groups: ['platform'] }, ['groups', 'department']],
])('asks for groups only if mappings or owners need them: %s', (_what, fields, missing) => {
  expect(missingClaims({ sub: 'ann' }, { ...settings, ...fields })).toEqual(missing);
});
