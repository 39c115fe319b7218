import type { Changes } from '@gatehouse/audited-changes/changes';
import type { CreatePreview } from '@gatehouse/contract/transfers';
import type { Call, Handler } from '@gatehouse/http/app';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { maxOpenPreviews } from '../bounds.ts';
import { acceptPreview, countOpenPreviews, findPreview, insertPreview } from './preview-store.ts';
import type { TransferParties } from './parties.ts';
import type { ReadVisible } from './transfer-store.ts';
import { assertFresh, assertOpen, showPreview } from './preview.ts';
import { changedInSource } from './transfer.ts';
import { planOf, type SourceSide, type TargetSide, type TransferPlan } from './transfer-plan.ts';

const what = 'preview';

export interface TransferPreviewDependencies {
  parties: TransferParties;
  read: ReadVisible;
  changes: Changes;
}

/** `/v1/tenant/resource-transfers/previews*`: for owners, and for admins of either tenant. */
export function transferPreviewHandlers({
  parties,
  read,
  changes,
}: TransferPreviewDependencies): Record<string, Handler> {
  return {
    'transfers.previews.create': async (call: Call<CreatePreview>) => {
      const { principal } = call;
      const plan = planOf(call.body);
      const byOwner = principal.tenantId === null;
      if (!byOwner && plan.sourceTenantId !== principal.tenantId)
        throw new AppError('role_missing', 'An admin key can transfer resources of its own tenant only.', {
          param: 'source_tenant_id',
        });
      const sides = byOwner
        ? await ownerSides(plan)
        : { source: await parties.describedSource(plan), target: null };
      return changes.change(call, async (db) => {
        if ((await countOpenPreviews(db, plan.sourceTenantId)) >= maxOpenPreviews) throw tooMany();
        const preview = await insertPreview(db, {
          ...{ id: newId(), plan, ...sides, createdBy: principal.keyId, byOwner },
        });
        const location = `/v1/tenant/resource-transfers/previews/${preview.id}`;
        return { body: showPreview(preview, principal.tenantId), headers: { location }, changes: [] };
      });
    },

    'transfers.previews.get': async ({ principal, params }: Call) => {
      const id = resourceId(params, what);
      const preview = orNotFound(await read(principal, (db) => findPreview(db, id)), what);
      return { body: showPreview(preview, principal.tenantId) };
    },

    'transfers.previews.accept': async (call: Call) => {
      const { principal, params } = call;
      const id = resourceId(params, what);
      const preview = orNotFound(await read(principal, (db) => findPreview(db, id)), what);
      const { plan } = preview;
      if (principal.tenantId !== plan.targetTenantId)
        throw new AppError('role_missing', 'Only an admin of the target can accept a transfer.');
      assertOpen(preview);
      const target = await parties.activeTenant(plan.targetTenantId, 'id');
      const sides = await parties.described(plan, target, (source) =>
        assertFresh(changedInSource(preview, source)),
      );
      return changes.change(call, async (db) => {
        const before = orNotFound(await findPreview(db, id, 'for update'), what);
        if (before.target !== null) return { body: showPreview(before, principal.tenantId), changes: [] };
        assertOpen(before);
        const after = await acceptPreview(db, id, sides.target);
        const view = { preview_id: id, mode: plan.mode, source_tenant_id: plan.sourceTenantId };
        return {
          body: showPreview(after, principal.tenantId),
          changes: [{ action: 'transfer.accepted', id, before: null, after: view }],
        };
      });
    },
  };

  async function ownerSides(plan: TransferPlan): Promise<{ source: SourceSide; target: TargetSide }> {
    await parties.activeTenant(plan.sourceTenantId, 'source_tenant_id');
    return parties.described(plan, await parties.activeTenant(plan.targetTenantId, 'target_tenant_id'));
  }
}

function tooMany(): AppError {
  return new AppError('rate_limit_exceeded', `A tenant has at most ${maxOpenPreviews} open previews.`, {
    headers: { 'retry-after': '600' },
  });
}
