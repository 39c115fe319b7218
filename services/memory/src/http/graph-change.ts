import type { Outcome } from '@gatehouse/changes/changes';
import { ofAgent } from '../documents/memory-key.ts';
import type { MemoryCall } from './memory-call.ts';

/** What the audit log says of a change of a graph: counts, if the graph is that of everyone who uses the agent. */
export function graphChange(
  { key }: Pick<MemoryCall, 'key'>,
  { userId }: { userId: string },
  counts: Record<string, number>,
): Outcome['changes'] {
  if (userId !== ofAgent) return [];
  return [{ action: 'memory_graph.updated', id: key.agentId, before: null, after: counts }];
}
