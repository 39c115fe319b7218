import type { RecordChange } from '@gatehouse/audited-changes/changes';
import type { RpcClient } from '@gatehouse/grpc/client';
import type { Pool } from '@gatehouse/pg/pool';
import type { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { Shell } from '@gatehouse/shell/shell';
import { lease } from './lease-rpc.ts';
import { LeaseSystemStore } from './lease-system-store.ts';
import { limitCleanup } from './limit-cleanup.ts';
import { limitHandlers } from './limit-handlers.ts';
import { LimitStore } from './limit-store.ts';
import { LimitSystemStore } from './limit-system-store.ts';
import { memoryUsageOf } from './memory-usage-client.ts';
import { settle } from './settle-rpc.ts';

export interface LimitsOptions {
  app: Pool;
  system: Pool;
  /** For leases: a slow list must not delay completions, which wait for them. */
  lease: Pool;
  /** For heartbeats of replicas. */
  known: Pool;
  memory: RpcClient<MemoryServiceClient>;
  recordChange: RecordChange;
  raise: RaiseAlert;
}

/** Limits and budgets: leases to replicas of chat, and what is left. */
export function createLimits({ log }: Shell, options: LimitsOptions) {
  const systemStore = new LimitSystemStore(options);
  const touchHolder = (id: string): Promise<void> => systemStore.touchHolder(id);
  const leases = new LeaseSystemStore(options.lease, { ...options, touchHolder });
  return {
    handlers: limitHandlers(new LimitStore(options.app), memoryUsageOf(options.memory)),
    rpcs: { lease: lease(leases), settle: settle(leases, systemStore) },
    parts: limitCleanup({
      deleteOld: () => systemStore.deleteOld(),
      findUnknownTimezones: () => systemStore.findUnknownTimezones(),
      log,
    }),
  };
}
