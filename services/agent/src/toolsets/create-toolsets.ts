import { AgentStore } from '../agents/agent-store.ts';
import type { Ground } from '../ground.ts';
import type { CallSources } from '../tools/call-tool-rpc.ts';
import { callToolsetTool } from './call-toolset-tool-rpc.ts';
import { listToolsetTools } from './list-toolset-tools-rpc.ts';
import { toolsetHandlers } from './toolset-handlers.ts';
import { ToolsetStore } from './toolset-store.ts';

/** Toolsets, and what each caller gets of them. */
export function createToolsets({ app, rpc, changes, sources }: Ground & { sources: CallSources }) {
  const forCalls = { toolsets: new ToolsetStore(rpc), agents: new AgentStore(rpc), sources };
  return {
    handlers: toolsetHandlers({
      toolsets: new ToolsetStore(app),
      agents: new AgentStore(app),
      sources,
      changes,
    }),
    rpcs: { listToolsetTools: listToolsetTools(forCalls), callToolsetTool: callToolsetTool(forCalls) },
  };
}
