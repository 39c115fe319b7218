import type { Shell } from '@gatehouse/shell/shell';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { cleanUpMs, hourMs } from '@gatehouse/kit/bounds';
import { lease } from './lease-rpc.ts';
import { LeaseSystemStore } from './lease-system-store.ts';
import { budgetHandlers } from './owner-budget-handlers.ts';
import { oldSpend } from './budget-spend-store.ts';
import { BudgetSystemStore } from './budget-system-store.ts';
import type { FindPolicyLimits } from './caller-limits.ts';
import { limitHandlers } from './limit-handlers.ts';
import { LimitStore } from './limit-store.ts';
import { LimitSystemStore, oldSettlements } from './limit-system-store.ts';
import { CounterSystemStore } from './counter-system-store.ts';
import { memoryUsageOf } from './memory-usage-client.ts';
import { settle } from './settle-rpc.ts';
import { describeAgents } from '../shared/agents-client.ts';
import type { BaseDependencies } from '../shared/base-dependencies.ts';

/** Limits and budgets: leases to replicas of chat, and what is left. */
export function createLimits({ log }: Shell, base: BaseDependencies, findPolicyLimits: FindPolicyLimits) {
  const systemStore = new LimitSystemStore(base);
  const touchHolder = (id: string): Promise<void> => systemStore.touchHolder(id);
  const leases = new LeaseSystemStore(base.lease, { ...base, touchHolder });
  const counters = new CounterSystemStore(base.system);
  const hourly = (task: string, round: () => Promise<boolean>) =>
    new PeriodicWork({ task, log, everyMs: hourMs, round });
  return {
    handlers: {
      ...limitHandlers({
        store: new LimitStore(base.app),
        findPolicyLimits,
        findMemoryUsage: memoryUsageOf(base.memory),
        describeAgents: describeAgents(base.agent),
      }),
      ...budgetHandlers(new BudgetSystemStore(base.system)),
    },
    rpcs: { lease: lease(leases), settle: settle(leases, systemStore) },
    parts: [
      ...cleanUp(log, base.system, [oldSettlements, oldSpend]),
      hourly('end counters of deleted policies', () => counters.endDeleted()),
      new PeriodicWork({
        task: 'delete ended counters of policies',
        ...{ log, everyMs: cleanUpMs, round: () => counters.deleteEnded() },
      }),
      hourly('delete old replicas', () => systemStore.deleteOldHolders()),
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
