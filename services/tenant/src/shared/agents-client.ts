import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import { maxDescribedIds } from '@gatehouse/grpc/described-ids';
import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import type { AgentName, AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';

/** Ids of agents, or keys. */
type NamedAgents = { ids: readonly string[] } | { keys: readonly string[] };

/** Describes a tenant's agents, private ones too; unknown ones are left out. Throws in an outage. */
export type DescribeAgents = (
  tenantId: string,
  named: NamedAgents,
  caller: Pick<CallContext, 'requestId' | 'trace'> & { deadlineMs?: number },
) => Promise<AgentName[]>;

/** Asks the agent service, for as many at a time as it describes. */
export function describeAgents(agent: RpcClient<AgentServiceClient>): DescribeAgents {
  return async (tenantId, named, { deadlineMs = lookupDeadlineMs, requestId, trace }) => {
    const { ids, keys } = { ids: [], keys: [], ...named };
    const described: AgentName[] = [];
    for (let from = 0; from < ids.length + keys.length; from += maxDescribedIds) {
      const to = from + maxDescribedIds;
      const some = { ids: ids.slice(from, to), keys: keys.slice(from, to) };
      const request = { tenantId, ...some, onlyVisible: false, userId: '' };
      const { agents } = await agent.call('describeAgents', request, { deadlineMs, requestId, trace });
      described.push(...agents);
    }
    return described;
  };
}
