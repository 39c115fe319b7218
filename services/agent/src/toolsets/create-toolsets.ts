import type { Ground } from '../ground.ts';
import { toolsetHandlers } from './toolset-handlers.ts';
import { ToolsetStore } from './toolset-store.ts';

/** The toolsets of tenants, by which programs may call tools. */
export function createToolsets({ app, changes }: Ground) {
  return { handlers: toolsetHandlers({ toolsets: new ToolsetStore(app), changes }) };
}
