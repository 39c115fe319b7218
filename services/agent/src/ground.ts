import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { observeEgress } from '@gatehouse/egress/metrics';
import { createPools } from '@gatehouse/shell/pools';
import { publishedAlerts } from '@gatehouse/shell/published-alerts';
import { publishedChanges } from '@gatehouse/shell/published-changes';
import type { Shell } from '@gatehouse/shell/shell';
import { migrations, type AgentConfig } from './config.ts';

/** Things shared by features; each uses some of them. */
export type Ground = ReturnType<typeof createGround>;

/** Calls to MCP servers, with one more held by each session; many tenants may use the same host. */
const maxCalls = { all: 1_024, tenant: 128, origin: 512, tenantAtOrigin: 128 };

/** Pools, published administrative changes and alerts, and the guarded egress to addresses given by tenants. */
export function createGround(shell: Shell, config: AgentConfig) {
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const half = Math.ceil(max / 2);
  const { gate: unauthenticatedPool, ...pools } = createPools(shell, {
    url,
    migrations,
    pools: {
      app: { role: 'agent_app', waits: 'tenants', max: half },
      system: { role: 'agent_system', waits: 'all', max: half },
      // A separate pool: completions wait for RPCs, which must not wait for a slow list.
      rpc: { role: 'agent_app', waits: 'tenants', max },
      // Pages of consents, which come without a key.
      gate: { role: 'agent_system', waits: 'unproved', max: Math.ceil(max / 5) },
    },
  });
  const guard = new Guard(config.EGRESS_ALLOW);
  const egress = new Egress({ guard, maxCalls });
  observeEgress(shell.registry, { tenants: egress });
  const changes = publishedChanges(shell, { config, ...pools });
  const { raise } = publishedAlerts(shell, config);
  return {
    config,
    keyRing: config.SECRETS_KEYRING,
    ...pools,
    unauthenticatedPool,
    changes,
    raise,
    egress,
    guard,
  };
}
