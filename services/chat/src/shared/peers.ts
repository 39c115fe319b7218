import { TenantRetention } from '@gatehouse/shell/tenant-retention';
import { UserDirectory } from '@gatehouse/shell/user-directory';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { Shell } from '@gatehouse/shell/shell';
import { followTenants } from '@gatehouse/shell/tenant-changes';
import type { ChatConfig } from '../config.ts';
import type { FindUser } from './acting-user.ts';
import { TenantSettingsClient } from './tenant-settings-client.ts';

/** The services called by chat. It is ready once it has reached tenant and agent. */
export function createPeers(shell: Shell, config: ChatConfig) {
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  // Not required: agents answer without memory.
  const memory = shell.peer('memory', config.MEMORY_GRPC, MemoryServiceClient);
  shell.require('tenant', () => tenant.reached);
  shell.require('agent', () => agent.reached);
  const changes = followTenants(shell, tenant);
  const users = new UserDirectory(tenant, changes);
  const findUser: FindUser = (...query) => users.find(...query);
  const userIdOf: UserDirectory['idOf'] = (...query) => users.idOf(...query);
  const settings = new TenantSettingsClient(tenant, { changes, keyRing: config.SECRETS_KEYRING });
  const retention = new TenantRetention(tenant, changes);
  return { tenant, changes, agent, memory, findUser, userIdOf, settings, retention };
}

export type Peers = ReturnType<typeof createPeers>;
