import type { Outcome } from '@gatehouse/audited-changes/changes';
import { ofAgent } from '../shared/memory-key.ts';
import type { MemoryCall } from './memory-call.ts';

/** The entry of the audit log for a change of a graph: counts, if the graph is shared by all users of the agent. */
export function graphChange(
  { key }: Pick<MemoryCall, 'key'>,
  { userId }: { userId: string },
  counts: Record<string, number>,
): Outcome['changes'] {
  if (userId !== ofAgent) return [];
  return [{ action: 'memory_graph.updated', id: key.agentId, before: null, after: counts }];
}
