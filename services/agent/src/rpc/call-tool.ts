import { cutText } from '@gatehouse/events/cut-text';
import type { Rpc } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { CallToolRequest, CallToolResponse } from '@gatehouse/proto/agent/v1/agent';
import { McpFailure } from '../mcp/failure.ts';
import { isEnabled } from '../mcp/mcp-server.ts';
import { isNamed } from '../tools/agent-tools.ts';
import { agentOf } from './agent-of.ts';
import type { ToolDependencies } from './list-tools.ts';

const maxResultChars = 200_000;

/** Calls a tool that the agent may use now, whatever it might use when the model got its tools. */
export function callTool({
  agents,
  servers,
  registry,
}: ToolDependencies): Rpc<CallToolRequest, CallToolResponse> {
  return {
    callers: ['chat'],
    acceptsDelegation: true,
    handle: async ({ agentId, serverId, tool: name, argumentsJson }, context) => {
      const { tenantId, agent, actingUser } = await agentOf(agents, context, agentId);
      const server = isUuid(serverId) ? await servers.find(tenantId, serverId) : null;
      const { mcp_servers: refs } = agent.tools;
      const tool = server?.tools.find((each) => each.name === name);
      if (
        server === null ||
        tool === undefined ||
        !server.enabled ||
        !isEnabled(server, name) ||
        !isNamed(refs, server.name, name)
      )
        throw new AppError('not_found', 'There is no such tool.');
      try {
        const args = JSON.parse(argumentsJson) as Record<string, unknown>;
        const { text, isError } = await registry.call(
          server,
          { tool, args, user: actingUser },
          context.signal,
        );
        return { content: shortened(text), outcome: isError ? 'error' : 'ok' };
      } catch (error) {
        if (!(error instanceof McpFailure)) throw error;
        return { content: error.message, outcome: error.kind };
      }
    },
  };
}

function shortened(text: string): string {
  if (text.length <= maxResultChars) return text.toWellFormed();
  return `${cutText(text, maxResultChars - 100)}\n[${text.length} characters, cut]`;
}
