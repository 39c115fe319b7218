import type { Limits } from '@gatehouse/contract/keys';
import type { MemoryLimits } from '@gatehouse/contract/tenants';

/** Limits in the stored form: without the members that set nothing. */
export function withoutNulls<Set extends Limits | MemoryLimits>(limits: Set): Set {
  // Every member is optional.
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => typeof value === 'number')) as Set;
}
