import type { UserDeletion } from '@gatehouse/shell/deletion-inbox';
import { participant } from '@gatehouse/shell/participant';
import { createPools } from '@gatehouse/shell/pools';
import type { Service } from '@gatehouse/shell/service';
import { Shell, type ShellOverrides } from '@gatehouse/shell/shell';
import { migrations, type AnalyticsConfig } from './config.ts';
import { createFeatures } from './create-features.ts';
import { forget } from './forgetting/forget-user-job.ts';
import { pgStores } from './pg-store.ts';
import type { RetentionTimes } from './retention/retention-job.ts';
import { exportConnections } from './usage/export-handlers.ts';
import { usageLagSeconds } from './usage/freshness-system-pg-store.ts';

/** Settings a test may replace. */
export interface AnalyticsOverrides extends ShellOverrides {
  /** The schedule of the deletion of expired traces. */
  retentionTimes?: Partial<RetentionTimes>;
  /** How long a deletion of a user is not complete, since events may be written late. */
  forgetSettleMs?: number;
  /** The time between two folds of runs into the roll-ups. */
  foldEveryMs?: number;
}

/** A summary and an export at a time. */
const ownerConnections = 2;

/** The analytics service: stores events of runs, and answers with traces and usage. Opens nothing before `start`. */
export async function createService(
  config: AnalyticsConfig,
  overrides: AnalyticsOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('analytics', config, overrides);
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const half = Math.ceil(max / 2);
  const pools = createPools(shell, {
    url,
    migrations,
    readyAs: 'analytics_app',
    usageLagSeconds,
    pools: {
      system: { role: 'analytics_system', waits: 'all', max },
      app: { role: 'analytics_app', waits: 'tenants', max: half },
      // A separate pool: summaries may take seconds, and other reads must not wait for them. One of a tenant at a time.
      summaries: { role: 'analytics_app', waits: 'tenants', max: half, perTenant: 1 },
      // An export holds its connection until its client has read it. The server ends the statement once the client has
      // left.
      exports: {
        ...{ role: 'analytics_app', waits: 'tenants', max: exportConnections, apart: true as const },
        settings: { client_connection_check_interval: '1s' },
      },
      // Summaries and exports of owners, over all tenants: neither ingest nor tenants wait for these.
      owners: {
        ...{ role: 'analytics_system', waits: 'all', max: ownerConnections },
        settings: { client_connection_check_interval: '1s' },
      },
    },
  });
  const { forgetSettleMs: settleMs, retentionTimes, foldEveryMs } = overrides;
  const stores = pgStores(pools, shell.log);
  const { parts, rpc, ...served } = createFeatures(shell, { config, stores, retentionTimes, foldEveryMs });
  const forgetUser = async (deletion: UserDeletion) => {
    const { traces, completed } = await forget(deletion, { store: stores.deletions, settleMs });
    return { counts: { traces }, completed };
  };
  return shell.createService({
    handler: shell.createApp(served),
    rpcs: [rpc, participant(shell, { config, system: pools.system, forgetUser })],
    parts,
  });
}
