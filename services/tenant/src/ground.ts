import { createJobs } from '@gatehouse/shell/background-jobs';
import { createPools } from '@gatehouse/shell/pools';
import type { Shell } from '@gatehouse/shell/shell';
import { migrations, type TenantConfig } from './config.ts';
import { rewrapColumns } from './sealed-columns.ts';
import { createClients } from './shared/clients.ts';
import { tasks } from './tasks.ts';

/** Rows of limits are looked up by keys only, in tables which grow with the tenants: a plan made while they were small would scan. */
export const limitLookups = { enable_seqscan: 'off' };

/** Pools, clients and background jobs, which the features share. */
export function createGround(shell: Shell, config: TenantConfig) {
  const { DATABASE_URL: url, DATABASE_POOL: max, SECRETS_KEYRING: keyRing } = config;
  const half = Math.ceil(max / 2);
  const pools = createPools(shell, {
    url,
    migrations,
    pools: {
      system: { role: 'tenant_system', waits: 'all', max },
      app: { role: 'tenant_app', waits: 'tenants', max: half },
      proved: { role: 'tenant_system', waits: 'tenants', max: half },
      lease: { role: 'tenant_system', waits: 'tenants', max: half, pipelined: true, settings: limitLookups },
      logins: { role: 'tenant_system', waits: 'unproved', max: half },
      // `known`: keys, sessions, users, changes and settings of many. `unknown`: keys possibly made up. `proved`: of one
      // tenant or person.
      known: { role: 'tenant_system', waits: 'all', max: Math.min(3, max) },
      unknown: { role: 'tenant_system', waits: 'unproved', max: Math.min(2, half) },
    },
  });
  const { app, system } = pools;
  return {
    pools,
    clients: createClients(shell, config),
    rewrap: rewrapColumns(shell, { app, system, keyRing }),
    ...createJobs(shell, tasks, system),
  };
}
