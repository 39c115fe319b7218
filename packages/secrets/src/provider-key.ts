import type { KeyRing } from './key-ring.ts';

/** A tenant's own key for a provider: tenant stores it, and chat uses it. */
export interface ProviderKeyRow {
  tenantId: string;
  id: string;
}

export function sealProviderKey(keyRing: KeyRing, row: ProviderKeyRow, key: string): Buffer {
  return keyRing.seal(Buffer.from(key), contextOfProviderKey(row));
}

/** Throws if the key of the ring is gone, or the value belongs to another row. */
export function openProviderKey(keyRing: KeyRing, row: ProviderKeyRow, sealed: Buffer): string {
  return keyRing.open(sealed, contextOfProviderKey(row)).toString();
}

/** The context of the sealed key. */
export function contextOfProviderKey({ tenantId, id }: ProviderKeyRow): string {
  return `${tenantId}/tenant.provider_keys/key/${id}`;
}
