import type { CreatePreview, ResourceRef, TransferMode } from '@gatehouse/contract/transfers';
import { AppError } from '@gatehouse/kit/errors';

/** The plan of a transfer, as requested. */
export interface TransferPlan {
  mode: TransferMode;
  sourceTenantId: string;
  targetTenantId: string;
  resources: readonly ResourceRef[];
  include: CreatePreview['include'];
  onConflict: CreatePreview['on_conflict'];
}

/** A resource as its service describes it. */
export interface DescribedResource extends ResourceRef {
  name: string;
  /** Changes with what would be transferred. */
  revision: string;
  hasSecrets: boolean;
  models: readonly string[];
  /** By kind. */
  counts: Readonly<Record<string, number>>;
}

/** One resource needs another one. */
export interface Dependency {
  of: ResourceRef & { name: string };
  needs: ResourceRef;
}

/** The source's state at a transfer. */
export interface SourceSide {
  resources: readonly DescribedResource[];
  dependencies: readonly Dependency[];
}

/** The target's state at a transfer. */
export interface TargetSide {
  conflicts: readonly (ResourceRef & { existingId: string; freeName: string })[];
  problems: readonly { code: string; message: string }[];
}

/** Asks all services about a plan; with an empty target, about its source alone. Throws while one is unavailable. */
export type DescribeTransfer = (plan: TransferPlan) => Promise<SourceSide & TargetSide>;

/** The plan of a request, with ids in the form in which they are stored. Throws if it contradicts itself. */
export function planOf(body: CreatePreview): TransferPlan {
  const plan = {
    mode: body.mode,
    sourceTenantId: body.source_tenant_id.toLowerCase(),
    targetTenantId: body.target_tenant_id.toLowerCase(),
    resources: body.resources.map(({ type, id }) => ({ type, id: id.toLowerCase() })),
    include: body.include,
    onConflict: body.on_conflict,
  };
  if (plan.sourceTenantId === plan.targetTenantId)
    throw new AppError('invalid_value', 'The target must be another tenant than the source.', {
      param: 'target_tenant_id',
    });
  for (const [index, { id }] of plan.resources.entries())
    if (plan.resources.findIndex((other) => other.id === id) < index)
      throw new AppError('invalid_value', 'The resource is listed twice.', { param: `resources[${index}]` });
  return plan;
}

/** Throws if a resource does not exist in the source, or needs one outside the transfer. */
export function assertComplete(plan: TransferPlan, { resources, dependencies }: SourceSide): void {
  const byId = new Map(resources.map((resource) => [resource.id, resource]));
  for (const [index, { type, id }] of plan.resources.entries())
    if (byId.get(id)?.type !== type)
      throw new AppError('not_found', `There is no such ${wordsOf(type)} in the source.`, {
        param: `resources[${index}].id`,
      });
  const missing = dependencies.find(({ of, needs }) => byId.has(of.id) && !byId.has(needs.id));
  if (missing !== undefined)
    throw new AppError(
      'dependency_missing',
      `The ${wordsOf(missing.of.type)} ${missing.of.name} needs the ${wordsOf(missing.needs.type)} ${missing.needs.id}: add it to the resources.`,
      { param: 'resources' },
    );
}

export function wordsOf(type: ResourceRef['type']): string {
  return type.replace('_', ' ');
}
