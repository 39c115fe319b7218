import type { Rpc } from '@gatehouse/grpc/rpc';
import type { Pool } from '@gatehouse/pg/pool';
import type { CountOpenRunsRequest, CountOpenRunsResponse } from '@gatehouse/proto/chat/v1/chat';
import { countOpenRuns as count } from './orphan-system-store.ts';

/** `CountOpenRuns`: how many runs of agents are under way, in all replicas. `pool` acts as `chat_system`. */
export function countOpenRuns(pool: Pool): Rpc<CountOpenRunsRequest, CountOpenRunsResponse> {
  return {
    callers: ['tenant'],
    handle: async ({ tenantId, agentIds }) => ({ runs: await count(pool, tenantId, agentIds) }),
  };
}
