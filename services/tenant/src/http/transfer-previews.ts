import type { Changes } from '@gatehouse/changes/changes';
import type { CreatePreview } from '@gatehouse/contract/transfers';
import type { Call, Handler } from '@gatehouse/http/app';
import { found, resourceId } from '@gatehouse/http/resource';
import type { Principal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { problemsOf, showPreview, type Preview } from '../transfers/preview.ts';
import {
  assertComplete,
  planOf,
  type DescribeTransfer,
  type SourceSide,
  type TargetSide,
  type TransferPlan,
} from '../transfers/transfer-plan.ts';
import { acceptPreview, countOpenPreviews, findPreview, insertPreview } from '../store/preview-statements.ts';
import type { TenantSystemStore } from '../store/tenant-system-store.ts';
import type { Tenant } from '../tenants/tenant.ts';

const what = 'preview';
/** Of a source, that have not expired. */
const maxOpen = 1_000;

export interface TransferPreviewDependencies {
  tenants: TenantSystemStore;
  describe: DescribeTransfer;
  changes: Changes;
  app: Pool;
  system: Pool;
}

/** `/v1/tenant/resource-transfers/previews*`: for owners, and for admins of either tenant. */
export function transferPreviewHandlers(dependencies: TransferPreviewDependencies): Record<string, Handler> {
  const { tenants, describe, changes, app, system } = dependencies;

  /** The rows that the caller may see. */
  const reading = <Result>({ tenantId }: Principal, work: (db: Queryable) => Promise<Result>) =>
    tenantId === null ? work(system) : withTenant(app, tenantId, work);

  /** An active tenant. Throws if it is none. */
  async function activeTenant(id: string, param: string): Promise<Tenant> {
    const tenant = await tenants.find(id);
    if (tenant === null)
      throw new AppError('invalid_value', `Invalid value for ${param}: there is no such tenant.`, { param });
    if (tenant.status !== 'active')
      throw new AppError('tenant_suspended', `The tenant ${tenant.slug} is ${tenant.status}.`, { param });
    return tenant;
  }

  async function described(
    plan: TransferPlan,
    target: Tenant,
  ): Promise<{ source: SourceSide; target: TargetSide }> {
    const { conflicts, problems, ...source } = await describe(plan);
    assertComplete(plan, source);
    const found = { conflicts, problems };
    return {
      source,
      target: { conflicts, problems: problemsOf(plan, source, found, target.allowedModels) },
    };
  }

  return {
    'transfers.previews.create': async (call: Call<CreatePreview>) => {
      const { principal } = call;
      const plan = planOf(call.body);
      const byOwner = principal.tenantId === null;
      if (!byOwner && plan.sourceTenantId !== principal.tenantId)
        throw new AppError('role_missing', 'An admin key can transfer resources of its own tenant only.', {
          param: 'source_tenant_id',
        });
      const sides = byOwner ? await ofOwner(plan) : { source: await ofSource(plan), target: null };
      return changes.change(call, async (db) => {
        if ((await countOpenPreviews(db, plan.sourceTenantId)) >= maxOpen) throw tooMany();
        const preview = await insertPreview(db, {
          ...{ id: newId(), plan, ...sides, createdBy: principal.keyId, byOwner },
        });
        const location = `/v1/tenant/resource-transfers/previews/${preview.id}`;
        return { body: showPreview(preview), headers: { location }, changes: [] };
      });
    },

    'transfers.previews.get': async ({ principal, params }: Call) => {
      const id = resourceId(params, what);
      return { body: showPreview(found(await reading(principal, (db) => findPreview(db, id)), what)) };
    },

    'transfers.previews.accept': async (call: Call) => {
      const { principal, params } = call;
      const id = resourceId(params, what);
      const preview = found(await reading(principal, (db) => findPreview(db, id)), what);
      if (principal.tenantId !== preview.plan.targetTenantId)
        throw new AppError('role_missing', 'Only an admin of the target can accept a transfer.');
      assertOpen(preview);
      const target = await tenants.find(preview.plan.targetTenantId);
      const sides = await described(preview.plan, found(target, what));
      return changes.change(call, async (db) => {
        const before = found(await findPreview(db, id, 'for update'), what);
        if (before.target !== null) return { body: showPreview(before), changes: [] };
        assertOpen(before);
        const after = await acceptPreview(db, id, sides.target);
        const view = { preview_id: id, mode: after.plan.mode, source_tenant_id: after.plan.sourceTenantId };
        return {
          body: showPreview(after),
          changes: [{ action: 'transfer.accepted', id, before: null, after: view }],
        };
      });
    },
  };

  async function ofOwner(plan: TransferPlan): Promise<{ source: SourceSide; target: TargetSide }> {
    await activeTenant(plan.sourceTenantId, 'source_tenant_id');
    return described(plan, await activeTenant(plan.targetTenantId, 'target_tenant_id'));
  }

  /** An admin learns nothing of the target, not even whether it exists. */
  async function ofSource(plan: TransferPlan): Promise<SourceSide> {
    const { resources, dependencies } = await describe({ ...plan, targetTenantId: '' });
    const source = { resources, dependencies };
    assertComplete(plan, source);
    return source;
  }
}

/** Throws if the preview can't be used any more. */
export function assertOpen({ isUsed, isExpired }: Pick<Preview, 'isUsed' | 'isExpired'>): void {
  if (isUsed) throw new AppError('preview_used', 'The preview was used for a transfer. Make another one.');
  if (isExpired) throw new AppError('preview_expired', 'The preview has expired. Make another one.');
}

function tooMany(): AppError {
  return new AppError('rate_limit_exceeded', `A tenant has at most ${maxOpen} open previews.`, {
    headers: { 'retry-after': '600' },
  });
}
