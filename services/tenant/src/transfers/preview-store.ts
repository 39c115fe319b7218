import type { Queryable } from '@gatehouse/pg/pool';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import type { Preview } from './preview.ts';
import type { SourceSide, TargetSide, TransferPlan } from './transfer-plan.ts';

export const oldPreviews: OldRows = {
  ...{ table: 'tenant.transfer_previews', key: 'id', where: `expires_at < now() - interval '1 day'` },
};

/** Statements on previews of transfers. The role and the tenant of the connection decide which rows they reach. */

interface PreviewRow extends Omit<Preview, 'plan'> {
  sourceTenantId: string;
  targetTenantId: string;
  request: Pick<TransferPlan, 'mode' | 'resources' | 'include' | 'onConflict'>;
}

const columns = `id, source_tenant_id as "sourceTenantId", target_tenant_id as "targetTenantId", request, source, target,
  by_owner as "byOwner", used_at is not null as "isUsed", expires_at <= now() as "isExpired",
  created_at as "createdAt", expires_at as "expiresAt"`;

export interface NewPreview {
  id: string;
  plan: TransferPlan;
  source: SourceSide;
  target: TargetSide | null;
  createdBy: string;
  byOwner: boolean;
}

export async function insertPreview(
  db: Queryable,
  { id, plan, source, target, createdBy, byOwner }: NewPreview,
): Promise<Preview> {
  const { sourceTenantId, targetTenantId, ...request } = plan;
  const inserted = await db.one<PreviewRow>(
    `insert into tenant.transfer_previews
       (id, source_tenant_id, target_tenant_id, request, source, target, created_by, by_owner, accepted_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, case when $6::json is not null then now() end) returning ${columns}`,
    [
      ...[id, sourceTenantId, targetTenantId, JSON.stringify(request), JSON.stringify(source)],
      ...[target === null ? null : JSON.stringify(target), createdBy, byOwner],
    ],
  );
  return previewOf(inserted);
}

export async function findPreview(
  db: Queryable,
  id: string,
  lock: '' | 'for update' = '',
): Promise<Preview | null> {
  const row = await db.first<PreviewRow>(
    `select ${columns} from tenant.transfer_previews where id = $1 ${lock}`,
    [id],
  );
  return row && previewOf(row);
}

/** The usable previews of a source. Others that add one wait until the transaction ends. */
export async function countOpenPreviews(db: Queryable, sourceTenantId: string): Promise<number> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`previews of ${sourceTenantId}`]);
  const { count } = await db.one<{ count: number }>(
    `select count(*)::integer as count from tenant.transfer_previews
       where source_tenant_id = $1 and expires_at > now() and used_at is null`,
    [sourceTenantId],
  );
  return count;
}

export async function acceptPreview(db: Queryable, id: string, target: TargetSide): Promise<Preview> {
  const updated = await db.one<PreviewRow>(
    `update tenant.transfer_previews set target = $2, accepted_at = now() where id = $1 returning ${columns}`,
    [id, JSON.stringify(target)],
  );
  return previewOf(updated);
}

function previewOf({ sourceTenantId, targetTenantId, request, ...row }: PreviewRow): Preview {
  return { ...row, plan: { sourceTenantId, targetTenantId, ...request } };
}
