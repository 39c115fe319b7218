import type { TransferableType } from '@gatehouse/contract/transfers';
import type { Counts, ResourceRef } from '@gatehouse/proto/participant/v1/participant';

/** The ids of the resources of a type a service is asked to describe. */
export function idsOf(refs: readonly ResourceRef[], type: TransferableType): string[] {
  return refs.filter((ref) => ref.type === type).map(({ id }) => id);
}

/** The counts of a resource, as they are sent. */
export function countsOf(ref: ResourceRef, counts: Readonly<Record<string, number>>): Counts {
  return {
    of: ref,
    counts: Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, BigInt(count)])),
  };
}
