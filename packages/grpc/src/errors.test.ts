import { expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { Metadata, status } from '@grpc/grpc-js';
import { fromServiceError, isOutage, isUnreachable, toStatus, type FailedStatus } from './errors.ts';

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

it.each<[string, boolean, Partial<FailedStatus>]>([
  ['there was no connection', true, { details: 'No connection established. Last error: ECONNREFUSED' }],
  ['the peer answered so', false, toStatus(new AppError('service_unavailable', 'm'))],
  ['the connection broke', false, { details: 'Connection dropped' }],
  ['the call took too long', false, { code: status.DEADLINE_EXCEEDED }],
])('where %s, the peer was unreachable: %s', (_name, expected, fields) => {
  const failed = { code: status.UNAVAILABLE, details: '', metadata: new Metadata(), ...fields };
  expect(isUnreachable(fromServiceError(Object.assign(new Error('m'), failed), 'memory'))).toBe(expected);
  expect(isUnreachable(new AppError('service_unavailable', 'm'))).toBe(false);
});
