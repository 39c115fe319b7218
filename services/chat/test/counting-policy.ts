import { newId } from '@gatehouse/kit/ids';
import { Resource, type Policy } from '@gatehouse/proto/tenant/v1/tenant';

/** A policy for every run with a budget that counts and refuses nothing, as the tenant service sends it. */
export function countingPolicy(): Policy {
  return {
    ...{ id: newId(), name: 'alarm', users: [], groups: [], agents: [], apiKeys: [], models: [] },
    ...{ limited: [Resource.BUDGET], enforce: false, fromOwner: false },
  };
}
