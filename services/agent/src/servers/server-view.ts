import type { McpAuthView } from '@gatehouse/contract/mcp-auth';
import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { judgedSchema } from '@gatehouse/dialects/translation/schema/tool-schema';
import { isEnabled, isPerUser, type McpServer } from '../mcp/mcp-server.ts';
import type { McpTool } from '../mcp/mcp-tool.ts';
import { modelNames } from '../mcp/model-names.ts';
import { acceptance, digestOf, type AcceptedTool } from '../mcp/tool-review.ts';

/** `userList`: the list of the acting user, of a server where each user has one. */
export function showServer(
  server: McpServer,
  userList: { tools: readonly McpTool[]; accepted: readonly AcceptedTool[] } | null = null,
): WireMcpServer {
  const { id, name, url, transport, enabled, status, trust } = server;
  const tools = isPerUser(server) ? (userList?.tools ?? []) : server.tools;
  const accepted = [...(userList?.accepted ?? []), ...server.accepted];
  const names = modelNames(tools.map((tool) => ({ server: name, tool: tool.name })));
  const isAccepted = acceptance({ trust, accepted });
  return {
    ...{ id, name, url, transport },
    auth: showAuth(server),
    tool_filter: server.toolFilter,
    timeout_ms: server.timeoutMs,
    ...{ enabled, trust, status },
    status_reason: server.statusReason,
    protocol_version: server.protocolVersion,
    tools: tools.map((tool, index) => ({
      name: tool.name,
      model_name: names[index] ?? '',
      description: tool.description,
      input_schema: tool.inputSchema,
      read_only: tool.readOnly,
      idempotent: tool.idempotent,
      enabled: isEnabled(server, tool.name),
      ...usabilityOf(tool),
      ...reviewOf(tool, { isAccepted: isAccepted(tool), accepted }),
    })),
    tools_updated_at: server.toolsUpdatedAt?.toISOString() ?? null,
    created_at: server.createdAt.toISOString(),
    updated_at: server.updatedAt.toISOString(),
  };
}

function usabilityOf(tool: McpTool): Pick<WireMcpServer['tools'][number], 'usable' | 'reason'> {
  const reason = tool.unusable === undefined ? judgedSchema(tool.inputSchema).reason : tool.unusable;
  return { usable: reason === null, reason };
}

function reviewOf(
  tool: McpTool,
  by: { isAccepted: boolean; accepted: readonly AcceptedTool[] },
): Pick<WireMcpServer['tools'][number], 'digest' | 'status' | 'accepted'> {
  const digest = digestOf(tool);
  if (by.isAccepted) return { digest, status: 'accepted', accepted: null };
  const before = by.accepted.find(({ name }) => name === tool.name)?.definition;
  return {
    digest,
    status: 'needs_review',
    accepted:
      before === undefined
        ? null
        : {
            description: before.description,
            input_schema: before.inputSchema,
            read_only: before.readOnly,
            idempotent: before.idempotent,
          },
  };
}

function showAuth({ auth, secrets }: McpServer): McpAuthView {
  const set = secrets !== null;
  switch (auth.type) {
    case 'none':
      return auth;
    case 'bearer':
      return { type: auth.type, token_set: set };
    case 'headers':
      return { type: auth.type, headers: auth.names.map((name) => ({ name, set })) };
    case 'oauth_client_credentials': {
      const { type, clientId, scope } = auth;
      return { type, client_id: clientId, client_secret_set: set, scope };
    }
    case 'oauth': {
      const { type, perUser, clientId, hasSecret, scope } = auth;
      return { type, per_user: perUser, client_id: clientId, client_secret_set: hasSecret && set, scope };
    }
  }
}
