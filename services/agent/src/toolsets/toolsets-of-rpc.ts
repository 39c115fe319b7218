import { tenantOf, type RpcContext } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import type { ToolsetStore } from './toolset-store.ts';
import { toolsetCallerOf, type Toolset } from './toolset.ts';

/** Toolsets as programs use them: one by its name, or all. */
export interface UsableToolsets {
  tenantId: string;
  user: string | null;
  toolsets: readonly Pick<Toolset, 'mcp_servers' | 'deny' | 'agents'>[];
  prefix: boolean;
  /** Empty for all. */
  description: string;
}

/**
 * The toolsets of a call, which are enabled and open to its key: also those who manage toolsets use no others. Throws
 * `not_found` for another one.
 */
export async function usableToolsets(
  store: ToolsetStore,
  context: Pick<RpcContext, 'principal'>,
  name: string | undefined,
): Promise<UsableToolsets> {
  const principal = tenantOf(context);
  const { tenantId, userId: user } = principal;
  const caller = { ...toolsetCallerOf(principal), seesAll: false };
  if (name === undefined) {
    const toolsets = await store.findUsable(caller);
    return { tenantId, user, toolsets, prefix: true, description: '' };
  }
  const toolset = await store.find(caller, name);
  if (toolset === null) throw new AppError('not_found', 'There is no such toolset.');
  const { prefix, description } = toolset;
  return { tenantId, user, toolsets: [toolset], prefix, description };
}
