import { maxResultChars } from '@gatehouse/contract/builtin-tools';
import { shortened } from '@gatehouse/events/cut-text';
import type { Rpc } from '@gatehouse/grpc/rpc';
import type { CallToolsetToolRequest, CallToolsetToolResponse } from '@gatehouse/proto/agent/v1/agent';
import { toolChoice } from '../tools/agent-tools.ts';
import { callServer, type CallSources } from '../tools/call-tool-rpc.ts';
import type { ToolsetStore } from './toolset-store.ts';
import { usableToolsets } from './toolsets-of-rpc.ts';

/** Calls a tool of a server if a toolset of the caller has it now, whatever it had when the program got its tools. */
export function callToolsetTool({
  toolsets: store,
  sources,
}: {
  toolsets: ToolsetStore;
  sources: CallSources;
}): Rpc<CallToolsetToolRequest, CallToolsetToolResponse> {
  return {
    callers: ['chat'],
    handle: async (request, context) => {
      const { tenantId, user, toolsets } = await usableToolsets(store, context, request.toolset);
      const choices = toolsets.map(({ mcp_servers: servers, deny }) => toolChoice(servers, deny));
      const called = { tenantId, choices, user, request };
      const { content, outcome } = await callServer(sources, called, context.signal);
      return { content: shortened(content, maxResultChars), outcome };
    },
  };
}
