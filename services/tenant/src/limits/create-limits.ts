import type { RecordChange } from '@gatehouse/audited-changes/changes';
import type { RpcClient } from '@gatehouse/grpc/client';
import type { Pool } from '@gatehouse/pg/pool';
import type { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { hourMs } from '@gatehouse/kit/bounds';
import { lease } from './lease-rpc.ts';
import { LeaseSystemStore } from './lease-system-store.ts';
import { oldSpend } from './budget-spend-store.ts';
import { limitHandlers } from './limit-handlers.ts';
import { LimitStore } from './limit-store.ts';
import { LimitSystemStore, oldSettlements } from './limit-system-store.ts';
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
  const hourly = (task: string, round: () => Promise<boolean>) =>
    new PeriodicWork({ task, log, everyMs: hourMs, round });
  return {
    handlers: limitHandlers(new LimitStore(options.app), memoryUsageOf(options.memory)),
    rpcs: { lease: lease(leases), settle: settle(leases, systemStore) },
    parts: [
      ...cleanUp(log, options.system, [oldSettlements, oldSpend]),
      hourly('release old replicas', () => systemStore.releaseOldHolders()),
      hourly('check the time zones of tenants', async () => {
        for (const { id, timezone } of await systemStore.findUnknownTimezones())
          log.warn(
            { tenant_id: id, timezone },
            'time zone unknown to PostgreSQL: budgets of the tenant use UTC',
          );
        return false;
      }),
    ],
  };
}
