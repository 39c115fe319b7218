import { AppError } from '@gatehouse/kit/errors';
import { nearestNames, nearestSentence } from '@gatehouse/kit/nearest-names';

/** A server of the tenant. */
export interface ListedServer {
  name: string;
  /** The names of its tools; null where they are not known for all users. */
  tools: readonly string[] | null;
}

/** The parts of a reference of an agent: `server` or `server/tool`. */
export function partsOf(ref: string): { server: string; tool: string | null } {
  const end = ref.indexOf('/');
  return end < 0 ? { server: ref, tool: null } : { server: ref.slice(0, end), tool: ref.slice(end + 1) };
}

/** Throws `unknown_mcp_server` for the first reference to a server or a tool that doesn't exist. */
export function assertKnownRefs(
  refs: readonly { ref: string; index: number }[],
  servers: readonly ListedServer[],
): void {
  const byName = new Map(servers.map((server) => [server.name, server]));
  for (const { ref, index } of refs) {
    const { server: name, tool } = partsOf(ref);
    const server = byName.get(name);
    if (server === undefined) {
      const nearest = nearestSentence(nearestNames(name, byName.keys()));
      throw unknownRef(index, `There is no MCP server ${JSON.stringify(name)}.${nearest}`);
    }
    if (tool === null || server.tools === null || server.tools.includes(tool)) continue;
    const nearest = nearestSentence(nearestNames(tool, server.tools));
    throw unknownRef(
      index,
      `The MCP server ${JSON.stringify(name)} has no tool ${JSON.stringify(tool)}.${nearest}`,
    );
  }
}

function unknownRef(index: number, message: string): AppError {
  return new AppError('unknown_mcp_server', `${message} Send allow_missing: true to name it all the same.`, {
    param: `tools.mcp_servers[${index}]`,
  });
}
