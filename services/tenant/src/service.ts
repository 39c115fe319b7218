import { rpcService } from '@gatehouse/grpc/rpc';
import { TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';
import { joined } from '@gatehouse/shell/feature';
import { Shell, type ShellOverrides } from '@gatehouse/shell/shell';
import { createAudit } from './audit/create-audit.ts';
import type { TenantConfig } from './config.ts';
import { createDeletions } from './deletions/create-deletions.ts';
import { createDeviceLogins } from './device-logins/create-device-logins.ts';
import { createGround } from './ground.ts';
import { createGuardrails } from './guardrails/create-guardrails.ts';
import { createKeys } from './keys/create-keys.ts';
import { createLimits } from './limits/create-limits.ts';
import { createPolicies } from './policies/create-policies.ts';
import { createProviderKeys } from './provider-keys/create-provider-keys.ts';
import { createScim } from './scim/create-scim.ts';
import { createSessions } from './sessions/create-sessions.ts';
import { createSystem } from './system/create-system.ts';
import { createTenants } from './tenants/create-tenants.ts';
import { createTransfers } from './transfers/create-transfers.ts';
import { createUsers } from './users/create-users.ts';

/** The tenant service: tenants, their API keys, limits and audit log. Opens nothing before `start`. */
export async function createService(config: TenantConfig, overrides: ShellOverrides = {}) {
  const shell = await Shell.create('tenant', config, overrides);
  const { SECRETS_KEYRING: keyRing } = config;
  const { pools, clients: peers, rewrap, jobs, worker } = createGround(shell, config);
  const { app, system } = pools;
  const { participants, systems, ...clients } = peers;
  const audit = createAudit(shell, { config, app, system });
  const { changes, recordChange } = audit;
  const base = { config, keyRing, ...pools, ...clients, changes, recordChange };
  const providerKeys = createProviderKeys(base);
  const policies = createPolicies(base);
  const guardrails = createGuardrails(base);
  const tenants = createTenants(base, { providerKeys, policies, guardrails });
  const { findTenant } = tenants;
  const keys = createKeys(shell, base, async (id) => (await findTenant(id)) !== null);
  const users = createUsers(shell, base);
  const sessions = createSessions(shell, base);
  const deviceLogins = createDeviceLogins(shell, base, sessions.doors);
  const limits = createLimits(shell, base, policies.findPolicyLimits);
  const deletions = createDeletions(shell, base, jobs);
  const transfers = createTransfers(shell, base, { jobs, participants, findTenant });
  const { parts, ...served } = joined([
    ...[
      audit,
      providerKeys,
      policies,
      guardrails,
      tenants,
      keys,
      users,
      createScim(base),
      sessions,
      deviceLogins,
      limits,
      deletions,
      transfers,
    ],
    ...[createSystem(shell, { systems, pool: system }), rewrap],
  ]);
  const rpcs = { ...keys.rpcs, ...users.rpcs, ...sessions.rpcs, ...providerKeys.rpcs };
  const handlers = { ...deletions.jobs, ...transfers.jobs };
  return shell.createService({
    handler: shell.createApp({ ...served, idempotency: changes.idempotency }),
    rpcs: [rpcService(TenantServiceService, { ...rpcs, ...tenants.rpcs, ...limits.rpcs })],
    parts: [...parts, worker(handlers), ...changes.idempotency.parts],
  });
}
