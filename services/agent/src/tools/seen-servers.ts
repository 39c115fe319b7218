import { settledWithin } from '@gatehouse/kit/clock';
import type { McpRegistry } from '../mcp/mcp-registry.ts';
import type { KnownHead } from '../mcp/mcp-server.ts';
import { serverNames } from './agent-tools.ts';
import type { OfferedTools, SeenServer } from './offered-tools.ts';
import { listWaitMs } from '../bounds.ts';

export interface ServerSources {
  servers: { findEnabled: (tenantId: string, names: readonly string[]) => Promise<KnownHead[]> };
  offered: OfferedTools;
  registry: McpRegistry;
}

/** The enabled servers named by references, in the order of the names. Expired lists are fetched first. */
export async function seenServers(
  { servers, offered, registry }: ServerSources,
  refs: readonly string[],
  { tenantId, user }: { tenantId: string; user: string | null },
): Promise<SeenServer[]> {
  const names = serverNames(refs);
  if (names.length === 0) return [];
  const find = async (): Promise<SeenServer[]> => {
    const heads = await servers.findEnabled(tenantId, names);
    const seen = await offered.seenBy(heads, user);
    return seen.toSorted((a, b) => names.indexOf(a.server.name) - names.indexOf(b.server.name));
  };
  const seen = await find();
  const stale = seen.filter(({ server, isStale }) => isStale && server.retryInS <= 0);
  if (stale.length === 0) return seen;
  const refreshed = stale.map(({ server }) => registry.refresh(server, user));
  await settledWithin(Promise.allSettled(refreshed), listWaitMs);
  return find();
}
