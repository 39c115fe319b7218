import { rpcService } from '@gatehouse/grpc/rpc';
import { AgentServiceService } from '@gatehouse/proto/agent/v1/agent';
import { joined } from '@gatehouse/shell/feature';
import { participant } from '@gatehouse/shell/participant';
import { createPools } from '@gatehouse/shell/pools';
import type { Service } from '@gatehouse/shell/service';
import { Shell, type ShellOverrides } from '@gatehouse/shell/shell';
import { createAgents } from './agents/create-agents.ts';
import { migrations, type AgentConfig } from './config.ts';
import { createConsents } from './consents/create-consents.ts';
import { createCookies } from './cookies/create-cookies.ts';
import { createForgetting } from './forgetting/create-forgetting.ts';
import { createLogins } from './logins/create-logins.ts';
import { rewrapColumns } from './sealed-columns.ts';
import { createServers } from './servers/create-servers.ts';
import { createEgress } from './shared/egress.ts';
import { createOutboxes } from './shared/outboxes.ts';
import { createTools } from './tools/create-tools.ts';
import { createTransfers } from './transfers/create-transfers.ts';
import { createWeb } from './web/create-web.ts';

/** The agent service: the agents of tenants, their visibility, and what users give to them. Opens nothing before `start`. */
export async function createService(config: AgentConfig, overrides: ShellOverrides = {}): Promise<Service> {
  const shell = await Shell.create('agent', config, overrides);
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const half = Math.ceil(max / 2);
  const { app, system, rpc, ...pools } = createPools(shell, {
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
  const outboxes = createOutboxes(shell, { config, app, system });
  const ground = { config, app, system, rpc, ...outboxes, ...createEgress(shell, config) };
  const { egress } = ground;
  const { idempotency } = ground.changes;
  const secrets = rewrapColumns(shell, { app, system, keyRing: config.SECRETS_KEYRING });
  const agents = createAgents(shell, ground);
  const cookies = createCookies(shell, ground);
  const logins = createLogins(shell, ground);
  const servers = createServers(shell, { ...ground, logins });
  const consents = createConsents(shell, { ...ground, unauthenticatedPool: pools.gate, logins, servers });
  const web = createWeb(shell, { egress, cookies: cookies.openCookies });
  const { registry } = servers;
  const tools = createTools({ ...ground, registry, webFetch: web.webFetch });
  const transfers = createTransfers(shell, ground);
  const forgetting = createForgetting({ cookies: cookies.cookies, logins: logins.logins });
  const { parts, ...served } = joined([
    ...[agents, { parts: [idempotency] }, servers, web, { parts: [egress] }],
    ...[logins, consents, secrets, cookies, transfers],
  ]);
  return shell.createService({
    handler: shell.createApp({ ...served, idempotency }),
    rpcs: [
      rpcService(AgentServiceService, { ...agents.rpcs, ...tools.rpcs }),
      participant(shell, { config, system, ...forgetting, transfers: transfers.rpcs }),
    ],
    parts,
  });
}
