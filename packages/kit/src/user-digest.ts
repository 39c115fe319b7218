import { hash } from 'node:crypto';
import { cacheKey } from './cache-key.ts';

/** SHA-256 of a tenant and a user: recognizes a user with deleted data without keeping the user's name. */
export function userDigest(tenantId: string, userId: string): Buffer {
  return hash('sha256', cacheKey(tenantId, userId), 'buffer');
}
