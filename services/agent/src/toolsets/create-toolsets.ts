import { AgentStore } from '../agents/agent-store.ts';
import type { Ground } from '../ground.ts';
import type { ServerSources } from '../tools/seen-servers.ts';
import { toolsetHandlers } from './toolset-handlers.ts';
import { ToolsetStore } from './toolset-store.ts';

/** Toolsets, and what each caller gets of them. */
export function createToolsets({ app, changes, sources }: Ground & { sources: ServerSources }) {
  return {
    handlers: toolsetHandlers({
      toolsets: new ToolsetStore(app),
      agents: new AgentStore(app),
      sources,
      changes,
    }),
  };
}
