import type { Budget, Limits } from '@gatehouse/contract/keys';
import { Resource as WireResource } from '@gatehouse/proto/tenant/v1/tenant';
import { limitOf, setResources, type Resource } from './leases.ts';

const wire: Record<Resource, WireResource> = {
  requests: WireResource.REQUESTS,
  tokens: WireResource.TOKENS,
  concurrency: WireResource.CONCURRENCY,
  budget: WireResource.BUDGET,
  counts: WireResource.COUNTS,
};

/** Null for a resource of a newer release. */
export function fromWire(resource: WireResource): Resource | null {
  const entry = Object.entries(wire).find(([, value]) => value === resource);
  return entry === undefined ? null : (entry[0] as Resource);
}

/** The resources restricted by the limits and the budget, under their names on the wire. */
export function limitedOf(limits: Limits | null, budget: Budget | null): WireResource[] {
  const limited = setResources.filter((resource) => limitOf({ limits, budget }, resource) !== null);
  return limited.map((resource) => wire[resource]);
}
