import { expect, it } from '@jest/globals';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { sealedTexts } from '@gatehouse/secrets/sealed-texts';
import { contextOfReply } from './idempotency.ts';

const keyRing = KeyRing.parse(`k1:${Buffer.alloc(32, 7).toString('base64')}`);
const tenantId = '0190a6b8-0000-7000-8000-0000000000aa';

it.each([
  [
    tenantId,
    'AQJrMe4xshk9E4ao4vsgLywJ2zVhb8AN6bEbRO5O6ZU97k9j0l7NuH//JSVBtDt5hsf6uU4tYIZL48NZ7DsdOwfUlH6+aMZmt9T1Bg3U+OtR3z0KwQjveAPVm9oFxKBH78yJ0GVwqenqe5Tq9w9tJMp3Zw==',
  ],
  [
    null,
    'AQJrMW0o/XYgrfPgtTP8vukxX2o5GoeNaO6M8aawDie6j1wb0M/69ipmJpMUHnRmp0hV4D0DL6mPAsR5575QVTZjuyYkjr/r9u9Zi4IMNuGQ/b2fTMkzaU5nySL3qb72phkF4yvEPjrKFMk3MBSthGE77g==',
  ],
])('opens a reply that release 0.3.0 has stored for the tenant %s', (tenant, stored) => {
  const replies = sealedTexts(keyRing, contextOfReply('tenant'));
  const claim = { id: '0190a6b8-0000-7000-8000-000000000001', request: { tenantId: tenant } };
  expect(replies.open(claim, Buffer.from(stored, 'base64'))).toBe('sealed by release 0.3.0');
});
