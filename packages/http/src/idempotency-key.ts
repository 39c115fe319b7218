import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import type { Reply } from './reply.ts';

/** The spelling in messages and `param`. */
export const idempotencyKeyHeader = 'Idempotency-Key';

/** A request with an `Idempotency-Key`, which may be a repeat. */
export interface KeyedRequest {
  /** Null for owner keys, which have no tenant. */
  tenantId: string | null;
  /** The received `Idempotency-Key`. */
  key: string;
  /** SHA-256 of the route and the parameters in its path. */
  target: Buffer;
  /** SHA-256 of everything that defines the request. */
  fingerprint: Buffer;
  requestId: string;
}

/** The exclusive right to execute a keyed request. */
export interface Claim {
  readonly id: string;
  readonly request: KeyedRequest;
  /** Whether the response was stored in the transaction of the effect. */
  answered: boolean;
}

/** Ensures that a keyed request takes effect at most once. */
export interface RepeatGuard {
  /** Returns the reply of `work`, or the stored reply to an earlier request with the same key. */
  once(request: KeyedRequest, work: (claim: Claim) => Promise<Reply>): Promise<Reply>;
}

/** Returns the `Idempotency-Key` of a request, or null. Throws 400 for an invalid key or more than one. */
export function idempotencyKeyOf(request: IncomingMessage): string | null {
  const values = request.headersDistinct['idempotency-key'];
  if (values === undefined) return null;
  const [value] = values;
  if (values.length === 1 && value !== undefined && /^[\x20-\x7e]{1,255}$/.test(value)) return value;
  throw new AppError(
    'invalid_value',
    `${idempotencyKeyHeader} must be sent once, with 1 to 255 printable ASCII characters.`,
    { param: idempotencyKeyHeader },
  );
}

/**
 * SHA-256 of everything that a repeat must have in common with the first request. Includes the API key, so that a
 * response with a secret is repeated only to the key that requested it.
 */
export function fingerprintOf(
  principal: Pick<Principal, 'keyId' | 'actingUser'>,
  { url, body }: { url: string; body: Buffer },
): Buffer {
  const who = JSON.stringify([principal.keyId, principal.actingUser, url]);
  return createHash('sha256').update(who).update(body).digest();
}

/** SHA-256 of the scope of a key: the route and its path parameters. */
export function targetOf(routeId: string, params: Record<string, string>): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([routeId, params]))
    .digest();
}
