import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import type { Reply } from './reply.ts';

/** As messages and `param` spell it. */
export const idempotencyKeyHeader = 'Idempotency-Key';

/** A request that was sent with an `Idempotency-Key`, and so may be a repeat. */
export interface KeyedRequest {
  /** Null for owners, who belong to no tenant. */
  tenantId: string | null;
  /** `Idempotency-Key` as it was sent. */
  key: string;
  /** SHA-256 of the route and the parameters in its path. */
  target: Buffer;
  /** SHA-256 of all that defines the request. */
  fingerprint: Buffer;
  requestId: string;
}

/** The exclusive right to carry out a keyed request. */
export interface Claim {
  readonly id: string;
  readonly request: KeyedRequest;
  /** Whether the answer was stored, in the transaction of the effect. */
  answered: boolean;
}

/** Makes a keyed request take effect at most once. */
export interface RepeatGuard {
  /** The answer of `work`, or the one it gave to an earlier request with the same key. */
  once(request: KeyedRequest, work: (claim: Claim) => Promise<Reply>): Promise<Reply>;
}

/** The key that a request was sent with; null for none. Throws a 400 for more than one, and for an invalid one. */
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
 * SHA-256 of what a repeat must have in common with the first request. The API key is part of it, so that an answer
 * that holds a secret is repeated only to the key that asked for it.
 */
export function fingerprintOf(
  principal: Pick<Principal, 'keyId' | 'actingUser'>,
  { url, body }: { url: string; body: Buffer },
): Buffer {
  const who = JSON.stringify([principal.keyId, principal.actingUser, url]);
  return createHash('sha256').update(who).update(body).digest();
}

/** SHA-256 of where a key counts: the route and the parameters in its path. */
export function targetOf(routeId: string, params: Record<string, string>): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([routeId, params]))
    .digest();
}
