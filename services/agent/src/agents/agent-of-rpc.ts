import { actorOf, tenantOf, type RpcContext } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import type { AgentStore } from './agent-store.ts';
import type { Agent } from './agent.ts';
import { viewerOf, type Viewer } from './viewer.ts';

/**
 * The agent of a call, its tenant and the acting user. Throws `not_found` if the principal may not see the agent, or if
 * the delegation's id names no agent.
 */
export async function agentOf(
  agents: AgentStore,
  context: RpcContext,
  idOrKey: string,
): Promise<{ tenantId: string; agent: Agent; userId: string | null }> {
  const seen = viewer(context, idOrKey);
  const agent = await agents.find(seen, idOrKey);
  if (agent === null) throw new AppError('not_found', 'There is no such agent.');
  const { userId } = context.delegation ?? tenantOf(context);
  return { tenantId: seen.tenantId, agent, userId };
}

/** The issuer of a delegation has checked the agent, even a private one. */
function viewer(context: RpcContext, agentId: string): Viewer {
  if (context.delegation === null) return viewerOf(tenantOf(context));
  return { tenantId: actorOf(context, agentId).tenantId, seesAll: true, user: null };
}
