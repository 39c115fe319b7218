import { maxResultChars } from '@gatehouse/contract/builtin-tools';
import { shortened } from '@gatehouse/events/cut-text';
import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { CallToolRequest, CallToolResponse } from '@gatehouse/proto/agent/v1/agent';
import { agentOf } from '../agents/agent-of-rpc.ts';
import type { Agent } from '../agents/agent.ts';
import { McpFailure } from '../mcp/failure.ts';
import type { McpTool } from '../mcp/mcp-tool.ts';
import { isOffered } from './agent-tools.ts';
import type { ListToolsDependencies } from './list-tools-rpc.ts';

/** Calls a tool if the agent may use it now, whatever it might use when the model got its tools. */
export function callTool(dependencies: ListToolsDependencies): Rpc<CallToolRequest, CallToolResponse> {
  const { agents, webFetch } = dependencies;
  return {
    callers: ['chat'],
    acceptsDelegation: true,
    handle: async (request, context) => {
      const { tenantId, agent, userId } = await agentOf(agents, context, request.agentId);
      const { signal } = context;
      const isOfGateway = request.serverId === '';
      if (isOfGateway && (request.tool !== 'web_fetch' || !agent.tools.builtin.includes('web_fetch')))
        throw noSuchTool();
      const { content, outcome } = isOfGateway
        ? await webFetch.call(
            { tenantId, agentId: agent.id, user: userId, hosts: agent.tools.web_hosts },
            argumentsOf(request),
            signal,
          )
        : await callServer(dependencies, { tenantId, agent, user: userId, request, signal });
      return { content: shortened(content, maxResultChars), outcome };
    },
  };
}

async function callServer(
  { servers, offered, registry }: ListToolsDependencies,
  {
    tenantId,
    agent,
    user,
    request,
    signal,
  }: { tenantId: string; agent: Agent; user: string | null; request: CallToolRequest; signal: AbortSignal },
): Promise<CallToolResponse> {
  const { serverId, tool: name } = request;
  const server = isUuid(serverId) ? await servers.findHead(tenantId, serverId) : null;
  const { mcp_servers: refs } = agent.tools;
  const [seen] = server === null ? [] : await offered.seenBy([server], user);
  const offeredTool = seen === undefined ? undefined : await offered.find(seen, name);
  if (offeredTool === undefined || server?.enabled !== true || !isOffered(refs, server, offeredTool))
    throw noSuchTool();
  const { schemaJson, ...definition } = offeredTool;
  const tool = { ...definition, inputSchema: JSON.parse(schemaJson) as McpTool['inputSchema'] };
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
