import type { Rpc } from '@gatehouse/grpc/rpc';
import { maxMcpServers } from '@gatehouse/contract/mcp-servers';
import type { DescribeRequest, DescribeResponse } from '@gatehouse/proto/participant/v1/participant';
import { idsOf } from '@gatehouse/transfers/describe';
import type { AgentTransferStore } from './transfer-store.ts';

/** Describes the effect of a transfer on agents and MCP servers. */
export function describeTransfer(store: AgentTransferStore): Rpc<DescribeRequest, DescribeResponse> {
  return {
    callers: ['tenant'],
    handle: async ({ mode, sourceTenantId, targetTenantId, resources: refs, onConflict }) => {
      const ids = { agents: idsOf(refs, 'agent'), servers: idsOf(refs, 'mcp_server') };
      const transferables = await store.find(sourceTenantId, ids);
      // Staying agents miss a server only if it moves.
      const uses = await store.findUses(sourceTenantId, {
        ...ids,
        servers: mode === 'move' ? ids.servers : [],
      });
      const taken = targetTenantId === '' ? [] : await store.findTaken(targetTenantId, transferables);
      const stays = new Set(onConflict === 'skip' ? taken.map(({ id }) => id) : []);
      const more = transferables.filter(({ type, id }) => type === 'mcp_server' && !stays.has(id)).length;
      const hasRoom =
        targetTenantId === '' ||
        more === 0 ||
        (await store.countServers(targetTenantId)) + more <= maxMcpServers;
      const tooMany = {
        code: 'limit_reached',
        message: `The target may have ${maxMcpServers} MCP servers.`,
      };
      return {
        resources: transferables.map(({ type, id, ...resource }) => ({ ref: { type, id }, ...resource })),
        counts: [],
        dependencies: uses.map(({ agentId, key, serverId }) => ({
          of: { type: 'agent', id: agentId },
          ofName: key,
          needs: { type: 'mcp_server', id: serverId },
        })),
        conflicts: taken.map(({ type, id, existingId, freeName }) => ({
          of: { type, id },
          existingId,
          freeName,
        })),
        problems: hasRoom ? [] : [tooMany],
      };
    },
  };
}
