import type { TransferPreview } from '@gatehouse/contract/transfers';
import { AppError } from '@gatehouse/kit/errors';
import type { DescribedResource, SourceSide, TargetSide, TransferPlan } from './transfer-plan.ts';

/** A stored preview of a transfer. */
export interface Preview {
  id: string;
  plan: TransferPlan;
  source: SourceSide;
  /** Null until the target has accepted. */
  target: TargetSide | null;
  byOwner: boolean;
  isUsed: boolean;
  isExpired: boolean;
  createdAt: Date;
  expiresAt: Date;
}

/** Throws if the preview can't be used any more. */
export function assertOpen({ isUsed, isExpired }: Pick<Preview, 'isUsed' | 'isExpired'>): void {
  if (isUsed) throw new AppError('preview_used', 'The preview was used for a transfer. Make another one.');
  if (isExpired) throw new AppError('preview_expired', 'The preview has expired. Make another one.');
}

/** Throws if something has changed since the preview. `changed`: names of resources. */
export function assertFresh(changed: readonly string[]): void {
  if (changed.length === 0) return;
  throw new AppError('preview_stale', `Changed since the preview: ${changed.join(', ')}. Make another one.`);
}

/** The place of a resource in the target. */
export interface Placed {
  action: TransferPreview['resources'][number]['action'];
  targetName: string;
}

export function placeOf(
  { plan, target }: Pick<Preview, 'plan' | 'target'>,
  resource: DescribedResource,
): Placed {
  const conflict = target?.conflicts.find(({ id }) => id === resource.id);
  if (conflict === undefined || plan.onConflict === 'fail')
    return { action: plan.mode, targetName: resource.name };
  return plan.onConflict === 'skip'
    ? { action: 'skip', targetName: resource.name }
    : { action: plan.mode, targetName: conflict.freeName };
}

/** Whether the secrets of a resource are part of the transfer: those of channels only if it moves. */
export function secretsOf(
  { plan, byOwner }: Pick<Preview, 'plan' | 'byOwner'>,
  { type, hasSecrets }: DescribedResource,
): 'none' | 'travel' | 'stay' {
  if (!hasSecrets) return 'none';
  const travels = plan.mode === 'move' || (byOwner && type !== 'channel_instance');
  return travels ? 'travel' : 'stay';
}

/**
 * Reasons why the target may not take the resources: problems of its services, conflicts, and the `forbidden` models,
 * which it may not use.
 */
export function problemsOf(
  plan: TransferPlan,
  { dependencies }: Pick<SourceSide, 'dependencies'>,
  target: TargetSide,
  forbidden: readonly string[],
): TargetSide['problems'] {
  return [
    ...target.problems,
    ...brokenBySkip(plan, dependencies, target),
    ...forbidden.map((model) => ({
      code: 'model_not_found',
      message: `The target may not use the model ${model}.`,
    })),
  ];
}

/** The models needed by resources that go to the target. */
export function modelsOf(
  { onConflict }: TransferPlan,
  { resources }: Pick<SourceSide, 'resources'>,
  { conflicts }: Pick<TargetSide, 'conflicts'>,
): string[] {
  const stays = new Set(onConflict === 'skip' ? conflicts.map(({ id }) => id) : []);
  const taken = resources.filter(({ id }) => !stays.has(id));
  return [...new Set(taken.flatMap(({ models }) => models))];
}

/** Resources that stay because the target has them, and need something that moves. */
function brokenBySkip(
  { mode, onConflict, resources }: TransferPlan,
  dependencies: SourceSide['dependencies'],
  { conflicts }: TargetSide,
): TargetSide['problems'] {
  if (mode === 'copy' || onConflict !== 'skip') return [];
  const stays = new Set(conflicts.map(({ id }) => id));
  const moves = new Set(resources.map(({ id }) => id).filter((id) => !stays.has(id)));
  return dependencies
    .filter(({ of, needs }) => stays.has(of.id) && moves.has(needs.id))
    .map(({ of }) => ({
      code: 'dependency_missing',
      message: `${of.name} stays in the source, and needs what would move.`,
    }));
}

/** A preview as `viewer` sees it. If an owner has made it, its source does not see what depends on the target. */
export function showPreview(stored: Preview, viewer: string | null): TransferPreview {
  const isHidden = stored.byOwner && viewer === stored.plan.sourceTenantId;
  const preview = isHidden ? { ...stored, target: null } : stored;
  const { id, plan, source, target } = preview;
  const nameOf = new Map(source.resources.map((resource) => [resource.id, resource.name]));
  return {
    id,
    status: statusOf(preview),
    mode: plan.mode,
    source_tenant_id: plan.sourceTenantId,
    target_tenant_id: plan.targetTenantId,
    accepted: stored.target !== null,
    include: plan.include,
    on_conflict: plan.onConflict,
    resources: source.resources.map((resource) => {
      const { type, name, counts } = resource;
      const { action, targetName } = placeOf(preview, resource);
      return {
        ...{ type, id: resource.id, name, action },
        target_name: targetName,
        secrets: secretsOf(preview, resource),
        counts,
      };
    }),
    dependencies: source.dependencies.map(({ of, needs }) => ({
      ...of,
      needs: { ...needs, name: nameOf.get(needs.id) ?? '' },
      included: nameOf.has(of.id),
    })),
    conflicts:
      target?.conflicts.map(({ type, id: ofId, existingId }) => ({
        ...{ type, id: ofId, name: nameOf.get(ofId) ?? '' },
        existing_id: existingId,
        resolution: plan.onConflict,
      })) ?? null,
    problems: target === null ? null : [...target.problems],
    created_at: preview.createdAt.toISOString(),
    expires_at: preview.expiresAt.toISOString(),
  };
}

function statusOf({ isUsed, isExpired }: Preview): TransferPreview['status'] {
  if (isUsed) return 'used';
  return isExpired ? 'expired' : 'open';
}
