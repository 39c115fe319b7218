import type { TransferMode, WireTransfer } from '@gatehouse/contract/transfers';
import type { Circumstances } from '@gatehouse/audited-changes/audit-entry';
import { whileAwaited } from '@gatehouse/jobs/retry-delays';
import type { Jobs } from '@gatehouse/jobs/jobs';
import { defineTask } from '@gatehouse/jobs/task';
import { newId } from '@gatehouse/kit/ids';
import type { TransferItem } from '@gatehouse/transfers/transfer';
import { placeOf, secretsOf, type Preview } from './preview.ts';
import type { Dependency, SourceSide, TargetSide } from './transfer-plan.ts';

export const transferTask = defineTask<{ transferId: string }>({
  ...{ retryAfterS: whileAwaited, deadlineMs: 120_000, concurrency: 4, perTenant: 2 },
});
export type TransferJobs = Pick<Jobs<{ transfer: typeof transferTask }>, 'add'>;

export const openPhases = ['locking', 'copying', 'closing', 'committing', 'aborting'] as const;

/**
 * Phases of a transfer. Up to `closing` it can still be undone, and in `committing` as long as no service has made it
 * effective; then it goes on until it is done in all services.
 */
export type Phase = (typeof openPhases)[number] | 'completed' | 'failed';

/** The content of a transfer for the services. */
export interface TransferContent {
  includeMemory: boolean;
  includeKnowledgeGraph: boolean;
  withSecrets: boolean;
  items: readonly TransferItem[];
}

export interface Transfer extends TransferContent {
  id: string;
  previewId: string;
  sourceTenantId: string;
  targetTenantId: string;
  mode: TransferMode;
  phase: Phase;
  /** How long the phase has taken, in seconds. */
  phaseS: number;
  error: { code: string; message: string } | null;
  asked: Pick<Circumstances, 'actor' | 'clientIp' | 'requestId'>;
  createdAt: Date;
  finishedAt: Date | null;
}

/** The content of a transfer from an open preview: copies get new ids, moved resources keep theirs. */
export function contentOf(preview: Preview): TransferContent {
  const { plan, source, target } = preview;
  const items = source.resources.map((resource) => {
    const { type, id, name, revision } = resource;
    const { action, targetName } = placeOf(preview, resource);
    const existing = target?.conflicts.find((conflict) => conflict.id === id)?.existingId;
    const targetId = action === 'skip' ? (existing ?? id) : action === 'copy' ? newId() : id;
    return { type, id, name, revision, action, targetId, targetName };
  });
  const withSecrets = source.resources.some((resource) => secretsOf(preview, resource) === 'travel');
  return {
    includeMemory: plan.include.memory,
    includeKnowledgeGraph: plan.include.knowledge_graph,
    ...{ withSecrets, items },
  };
}

/** Names of the resources that differ in the source between a preview and now. */
export function changedInSource(preview: Pick<Preview, 'source'>, source: SourceSide): string[] {
  const now = new Map(source.resources.map((resource) => [resource.id, resource]));
  const changed = preview.source.resources.filter(({ id, revision }) => now.get(id)?.revision !== revision);
  const previewed = new Set(preview.source.dependencies.map(edgeOf));
  const dependent = source.dependencies.filter((dependency) => !previewed.has(edgeOf(dependency)));
  return unique([...changed.map(({ name }) => name), ...dependent.map(({ of }) => of.name)]);
}

/** The same for both sides. */
export function changedSince(preview: Preview, source: SourceSide, target: TargetSide): string[] {
  const conflictOf = (side: TargetSide | null, id: string) => {
    const conflict = side?.conflicts.find((each) => each.id === id);
    return conflict === undefined ? '' : `${conflict.existingId} ${conflict.freeName}`;
  };
  const conflicting = preview.source.resources.filter(
    ({ id }) => conflictOf(preview.target, id) !== conflictOf(target, id),
  );
  return unique([...changedInSource(preview, source), ...conflicting.map(({ name }) => name)]);
}

const edgeOf = ({ of, needs }: Dependency): string => `${of.id} ${needs.id}`;
const unique = (names: readonly string[]): string[] => [...new Set(names)];

/** A transfer as `viewer` sees it. If an owner has begun it, its source does not see what the target already has. */
export function showTransfer(transfer: Transfer, viewer: string | null): WireTransfer {
  const isHidden = transfer.asked.actor.role === 'owner' && viewer === transfer.sourceTenantId;
  const { id, mode, phase, error, createdAt, finishedAt } = transfer;
  return {
    id,
    status: phase === 'completed' || phase === 'failed' ? phase : 'running',
    phase,
    mode,
    preview_id: transfer.previewId,
    source_tenant_id: transfer.sourceTenantId,
    target_tenant_id: transfer.targetTenantId,
    items: transfer.items.map(({ type, id: sourceId, targetId, action }) => ({
      ...{ type, source_id: sourceId, action },
      target_id: phase === 'failed' || (isHidden && action === 'skip') ? null : targetId,
    })),
    error,
    created_at: createdAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
  };
}
