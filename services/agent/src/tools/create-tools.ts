import { AgentStore } from '../agents/agent-store.ts';
import { LoginStore } from '../logins/login-store.ts';
import type { McpRegistry } from '../mcp/mcp-registry.ts';
import { ServerStore } from '../servers/server-store.ts';
import type { Ground } from '../ground.ts';
import type { WebFetch } from '../web/web-fetch.ts';
import { callTool } from './call-tool-rpc.ts';
import { listTools } from './list-tools-rpc.ts';
import { OfferedTools } from './offered-tools.ts';

/** Tools offered to models by agents, and their calls. */
export function createTools({
  rpc,
  raise,
  registry,
  webFetch,
}: Ground & { registry: McpRegistry; webFetch: WebFetch }) {
  const servers = new ServerStore(rpc, raise);
  const logins = new LoginStore(rpc, raise);
  const offered = new OfferedTools({
    headsOf: (some, owner) => logins.findListHeads(owner, some),
    textsOf: (server) => servers.findTexts(server),
    textsFor: (server, user) => logins.findTexts(server, user),
  });
  const tools = { agents: new AgentStore(rpc), servers, offered, registry, webFetch };
  return {
    sources: { servers, offered, registry },
    rpcs: { listTools: listTools(tools), callTool: callTool(tools) },
  };
}
