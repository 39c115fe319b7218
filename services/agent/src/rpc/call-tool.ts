import { maxResultChars } from '@gatehouse/contract/builtin-tools';
import { shortened } from '@gatehouse/events/cut-text';
import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { CallToolRequest, CallToolResponse } from '@gatehouse/proto/agent/v1/agent';
import type { Agent } from '../agents/agent.ts';
import { McpFailure } from '../mcp/failure.ts';
import { isOffered } from '../tools/agent-tools.ts';
import { agentOf } from './agent-of.ts';
import type { ToolDependencies } from './list-tools.ts';

/** Calls a tool that the agent may use now, whatever it might use when the model got its tools. */
export function callTool(dependencies: ToolDependencies): Rpc<CallToolRequest, CallToolResponse> {
  const { agents, webFetch } = dependencies;
  return {
    callers: ['chat'],
    acceptsDelegation: true,
    handle: async (request, context) => {
      const { tenantId, agent, actingUser } = await agentOf(agents, context, request.agentId);
      const { signal } = context;
      const isOfGateway = request.serverId === '';
      if (isOfGateway && (request.tool !== 'web_fetch' || !agent.tools.builtin.includes('web_fetch')))
        throw noSuchTool();
      const { content, outcome } = isOfGateway
        ? await webFetch.call(
            { tenantId, agentId: agent.id, user: actingUser, hosts: agent.tools.web_hosts },
            argumentsOf(request),
            signal,
          )
        : await callServer(dependencies, { tenantId, agent, user: actingUser, request, signal });
      return { content: shortened(content, maxResultChars), outcome };
    },
  };
}

async function callServer(
  { servers, registry }: ToolDependencies,
  {
    tenantId,
    agent,
    user,
    request,
    signal,
  }: { tenantId: string; agent: Agent; user: string | null; request: CallToolRequest; signal: AbortSignal },
): Promise<CallToolResponse> {
  const { serverId, tool: name } = request;
  const server = isUuid(serverId) ? await servers.find(tenantId, serverId) : null;
  const { mcp_servers: refs } = agent.tools;
  const seen = server === null ? null : await registry.seenBy(server, user);
  const tool = seen?.tools.find((each) => each.name === name);
  if (tool === undefined || server?.enabled !== true || !isOffered(refs, server, tool)) throw noSuchTool();
  try {
    const { text, isError } = await registry.call(server, { tool, args: argumentsOf(request), user }, signal);
    return { content: text, outcome: isError ? 'error' : 'ok' };
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error;
    return { content: error.message, outcome: error.kind };
  }
}

function argumentsOf({ argumentsJson }: CallToolRequest): Record<string, unknown> {
  return JSON.parse(argumentsJson) as Record<string, unknown>;
}

function noSuchTool(): AppError {
  return new AppError('not_found', 'There is no such tool.');
}
