import type { IncomingMessage } from 'node:http';
import { checkBodyHeaders, checkBodySize } from '@gatehouse/http/body';
import { idempotencyKeyOf } from '@gatehouse/http/idempotency-key';
import { actingUserHeader, checkActingUserHeader } from '../auth/acting-user.ts';
import { bodyLimitOf } from '../shared/body-limit.ts';
import type { RequestTarget } from '../shared/target.ts';

/** Checks a request's headers before its body is read. Throws 413, 415 and 400, in this order. */
export function checkRequest(request: IncomingMessage, { route, valuesOf }: RequestTarget): void {
  // Only the size of a signed request is checked before its signature is verified.
  if (route.access.kind === 'signed') checkBodySize(request, route);
  else if (route.bodyLimit > 0) checkBodyHeaders(request, route);
  else checkBodySize(request, { bodyLimit: bodyLimitOf(route) });
  if (route.actingUser) checkActingUserHeader(valuesOf(actingUserHeader));
  // The service gets repeated headers joined to one, which would look like a valid key.
  if (route.idempotencyKey) idempotencyKeyOf(request);
}
