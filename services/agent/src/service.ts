import { rpcService } from '@gatehouse/grpc/rpc';
import { AgentServiceService } from '@gatehouse/proto/agent/v1/agent';
import { rewrapValues } from '@gatehouse/secrets/rewrap-job';
import { joined } from '@gatehouse/shell/feature';
import { participant } from '@gatehouse/shell/participant';
import type { Service } from '@gatehouse/shell/service';
import { Shell, type ShellOverrides } from '@gatehouse/shell/shell';
import { createAgents } from './agents/create-agents.ts';
import type { AgentConfig } from './config.ts';
import { createConsents } from './consents/create-consents.ts';
import { createCookies } from './cookies/create-cookies.ts';
import { createForgetting } from './forgetting/create-forgetting.ts';
import { createGround } from './ground.ts';
import { createLogins } from './logins/create-logins.ts';
import { sealedColumns as columns } from './sealed-columns.ts';
import { createServers } from './servers/create-servers.ts';
import { createTools } from './tools/create-tools.ts';
import { createToolsets } from './toolsets/create-toolsets.ts';
import { createTransfers } from './transfers/create-transfers.ts';
import { createWeb } from './web/create-web.ts';

/** The agent service: the agents of tenants, their visibility, and what users give to them. Opens nothing before `start`. */
export async function createService(config: AgentConfig, overrides: ShellOverrides = {}): Promise<Service> {
  const shell = await Shell.create('agent', config, overrides);
  const ground = createGround(shell, config);
  const { app, system, keyRing, egress } = ground;
  const { idempotency } = ground.changes;
  const agents = createAgents(shell, ground);
  const cookies = createCookies(shell, ground);
  const logins = createLogins(shell, ground);
  const servers = createServers(shell, { ...ground, logins });
  const consents = createConsents(shell, { ...ground, logins, servers });
  const web = createWeb(shell, { egress, cookies: cookies.openCookies });
  const { registry } = servers;
  const tools = createTools({ ...ground, registry, webFetch: web.webFetch });
  const toolsets = createToolsets({ ...ground, sources: tools.sources });
  const transfers = createTransfers(shell, ground);
  const forgetting = createForgetting({ cookies: cookies.cookies, logins: logins.logins });
  const { parts, ...served } = joined([
    ...[agents, { parts: idempotency.parts }, servers, toolsets, web, { parts: [egress] }],
    ...[logins, consents, rewrapValues(shell, { columns, app, system, keyRing }), cookies, transfers],
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
