import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Route } from '@gatehouse/contract/routes';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { RequestContext } from './request-context.ts';
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
  /** SHA-256 of everything defining the request. */
  fingerprint: Buffer | StreamedFingerprint;
  requestId: string;
}

/** Fingerprint of a request with a body processed while it arrives. */
export interface StreamedFingerprint {
  /** Null until the whole body has arrived. */
  readonly known: Buffer | null;
  /** Reads the rest of the body and discards it. Throws the errors of reading it. */
  rest(): Promise<Buffer>;
}

/** Parts of a call its keyed request is made of. */
interface StreamedCall extends Pick<RequestContext, 'requestId'> {
  principal: Principal;
  route: Pick<Route, 'id'>;
  params: Record<string, string>;
}

/** The exclusive right to execute a keyed request. */
export interface Claim {
  readonly id: string;
  readonly request: KeyedRequest;
  /** Whether the response was stored in the transaction of the effect. */
  answered: boolean;
}

/** Makes a keyed request take effect at most once. */
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
 * Keyed request of a handler reading its body while it arrives; null without an `Idempotency-Key`. Throws as
 * `idempotencyKeyOf`.
 */
export function streamedRequest(
  request: IncomingMessage,
  { principal, route, params, requestId }: StreamedCall,
  fingerprint: StreamedFingerprint,
): KeyedRequest | null {
  const key = idempotencyKeyOf(request);
  if (key === null) return null;
  return { tenantId: principal.tenantId, key, target: targetOf(route.id, params), fingerprint, requestId };
}

/**
 * SHA-256 of everything a repeat must have in common with the first request. Includes the API key, so a response with a
 * secret is repeated only to the requesting key.
 */
export function fingerprintOf(
  principal: Pick<Principal, 'keyId' | 'userId'>,
  { url, body }: { url: string; body: Buffer },
): Buffer {
  return fingerprintHash(principal, url).update(body).digest();
}

/** The same, to which the body must still be added. */
export function fingerprintHash(principal: Pick<Principal, 'keyId' | 'userId'>, url: string): Hash {
  const [path = ''] = url.split('?', 1);
  const spelled = path.split('/').map(withOneSpelling).join('/') + url.slice(path.length);
  const who = JSON.stringify([principal.keyId, principal.userId, spelled]);
  return createHash('sha256').update(who);
}

/** SHA-256 of the scope of a key: the route and its path parameters. */
export function targetOf(routeId: string, params: Record<string, string>): Buffer {
  const spelled = Object.entries(params).map(([name, value]) => [name, withOneSpelling(value)]);
  return createHash('sha256')
    .update(JSON.stringify([routeId, Object.fromEntries(spelled)]))
    .digest();
}

/** Ids match in any case (see `resourceId`), so a repeat may spell them differently. */
function withOneSpelling(segment: string): string {
  return isUuid(segment) ? segment.toLowerCase() : segment;
}
