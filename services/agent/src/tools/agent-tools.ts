import { modelNames } from '../mcp/model-names.ts';
import { isEnabled, type McpServer, type McpTool } from '../mcp/mcp-server.ts';

/** A tool that an agent may use. */
export interface AgentTool<Server extends McpServer = McpServer> {
  /** As models get it. */
  name: string;
  server: Server;
  tool: McpTool;
}

/** More than any provider accepts, in number and in bytes; what is beyond is left out. */
const maxTools = 512;
const maxBytes = 2 * 1024 * 1024;

/** The names of the servers of which an agent may use all tools, or single ones. */
export function serverNames(refs: readonly string[]): string[] {
  return [...new Set(refs.map((ref) => ref.split('/', 1)[0] ?? ''))];
}

/** Whether a tool is among those that an agent names, as `server` or as `server/tool`. */
export function isNamed(refs: readonly string[], server: string, tool: string): boolean {
  return refs.includes(server) || refs.includes(`${server}/${tool}`);
}

/**
 * The tools of an agent in a stable order, so that the caches of providers know the prompt again: servers as the agent
 * names them, tools by name.
 */
export function agentTools<Server extends McpServer>(
  refs: readonly string[],
  listed: readonly { server: Server; tools: readonly McpTool[] }[],
): AgentTool<Server>[] {
  const found = serverNames(refs).flatMap((name) =>
    listed
      .filter(({ server }) => server.name === name)
      .flatMap(({ server, tools }) =>
        tools
          .filter((tool) => isEnabled(server, tool.name) && isNamed(refs, name, tool.name))
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .map((tool) => ({ server, tool })),
      ),
  );
  const names = modelNames(found.map(({ server, tool }) => ({ server: server.name, tool: tool.name })));
  const tools = found.map((each, index) => ({ ...each, name: names[index] ?? '' }));
  let bytes = 0;
  const fitting = tools.slice(0, maxTools).findIndex(({ tool }) => {
    bytes += Buffer.byteLength(JSON.stringify(tool));
    return bytes > maxBytes;
  });
  return tools.slice(0, fitting === -1 ? maxTools : fitting);
}
