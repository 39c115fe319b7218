import { expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { isOutage } from './errors.ts';

it.each([
  ['service_unavailable', true],
  ['service_timeout', true],
  ['database_unavailable', true],
  ['internal', false],
  ['not_found', false],
  ['provider_unreachable', false],
] as const)('%s is an outage: %s', (code, expected) => {
  expect(isOutage(new AppError(code, 'm'))).toBe(expected);
  expect(isOutage(new Error(code))).toBe(false);
});
