import type { MemoryLimits } from '@gatehouse/contract/tenants';
import type { Limits } from '@gatehouse/contract/keys';

/** Limits in the stored form, without null members. */
export function withoutNulls<Set extends Limits | MemoryLimits>(limits: Set): Set {
  // Every member is optional.
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => typeof value === 'number')) as Set;
}

/** Amounts remembered by all agents of a tenant together, or their maximum. Bytes: text of documents as UTF-8. */
export type MemoryAmounts = Record<'documents' | 'bytes' | 'entities', number>;

/** The limits of a tenant without limits from an owner. */
const defaults: MemoryAmounts = { documents: 100_000, bytes: 5 * 1024 ** 3, entities: 1_000_000 };

export function memoryLimitsOf({ documents, bytes, entities }: MemoryLimits): MemoryAmounts {
  return {
    documents: documents ?? defaults.documents,
    bytes: bytes ?? defaults.bytes,
    entities: entities ?? defaults.entities,
  };
}
