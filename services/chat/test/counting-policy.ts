import { newId } from '@gatehouse/kit/ids';
import { groupEntry } from '@gatehouse/kit/selection-index';
import { Resource, type Policy } from '@gatehouse/proto/tenant/v1/tenant';
import { newCounterKey } from '@gatehouse/secrets/counter-key';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import type { ChatHarness } from './chat-harness.ts';

/** A policy for every run. Its budget counts and refuses nothing. As the tenant service sends it. */
export function countingPolicy({ identity }: ChatHarness): Policy {
  const id = newId();
  return {
    ...{ id, name: 'alarm', users: [], groups: [], agents: [], apiKeys: [], models: [] },
    ...{ limited: [Resource.BUDGET], enforce: false, fromOwner: false },
    counterKey: newCounterKey(KeyRing.parse(identity.keyRing), id),
  };
}

/** A policy for the requests of each of some groups. */
export function groupPolicy(harness: ChatHarness, ...groupIds: string[]): Policy {
  return {
    ...{ ...countingPolicy(harness), name: 'teams', per: 'group', groups: groupIds.map(groupEntry) },
    ...{ limited: [Resource.REQUESTS], enforce: true },
  };
}
