import type { ChangeOutcome } from '@gatehouse/audited-changes/changes';
import type { AuditAction } from '@gatehouse/contract/audit';
import type { MemoryCall } from './memory-call.ts';

/** Numbers of documents and of members of the graph. */
type Counts = Readonly<Record<string, number>>;

/**
 * The entry of the audit log for a change of an agent's memory: counts. No entry if nothing changed, or if the memory
 * is the acting user's own: users must not be able to fill the log.
 */
export function sharedChange(
  action: AuditAction,
  { key, principal }: MemoryCall,
  { before = null, after = null }: { before?: Counts | null; after?: Counts | null },
): ChangeOutcome['changes'] {
  const counts = Object.values({ ...before, ...after });
  if (principal.userId !== null || counts.every((count) => count === 0)) return [];
  return [{ action, id: key.agentId, before, after }];
}
