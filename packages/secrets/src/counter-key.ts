import { createHmac, randomBytes } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';

/** The key of a policy's counters: tenant stores it, and chat derives the ids of counters from it. */

/** A new key of a policy, sealed. */
export function newCounterKey(keyRing: KeyRing, policyId: string): Buffer {
  return keyRing.seal(randomBytes(32), contextOfCounterKey({ id: policyId }));
}

/**
 * The key of a policy in one tenant: the owner's policies count each tenant apart. Throws if the key of the ring is gone,
 * or the value belongs to another policy.
 */
export function openCounterKey(
  keyRing: KeyRing,
  { tenantId, policyId }: { tenantId: string; policyId: string },
  sealed: Buffer,
): Buffer {
  const key = keyRing.open(sealed, contextOfCounterKey({ id: policyId }));
  return createHmac('sha256', key).update(tenantId).digest();
}

/** The context of the sealed key. */
export function contextOfCounterKey({ id }: { id: string }): string {
  return `tenant.policies/counter_key/${id}`;
}
