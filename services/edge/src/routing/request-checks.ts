import type { IncomingMessage } from 'node:http';
import { checkBodyHeaders } from '@gatehouse/http/body';
import { idempotencyKeyOf } from '@gatehouse/http/idempotency-key';
import { checkActingUserHeader } from '../auth/acting-user.ts';
import type { Target } from './target.ts';

/** What a request's headers show to be wrong before its body is read. Throws 413, 415 and 400, in this order. */
export function checkRequest(request: IncomingMessage, { route, actingUsers }: Target): void {
  if (route.bodyLimit > 0) checkBodyHeaders(request, route);
  if (route.actingUser) checkActingUserHeader(actingUsers());
  // The service gets repeated headers joined to one, which would look like a valid key.
  if (route.idempotencyKey) idempotencyKeyOf(request);
}
