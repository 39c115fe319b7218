import type { Principal } from '@gatehouse/identity/principal';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { AppError } from '@gatehouse/kit/errors';
import type { PageRequest } from '@gatehouse/kit/page';
import { isUniqueViolation } from '@gatehouse/pg/errors';
import type { Transfer, TransferContent, TransferJobs } from './transfer.ts';

/** Statements on transfers. The role and the tenant of the connection decide which rows they reach. */

type Row = Omit<Transfer, keyof TransferContent> & { content: TransferContent };

const columns = `id, preview_id as "previewId", source_tenant_id as "sourceTenantId",
  target_tenant_id as "targetTenantId", mode, content, phase,
  extract(epoch from clock_timestamp() - phase_at)::float8 as "phaseS",
  error, asked, created_at as "createdAt", finished_at as "finishedAt"`;

export interface NewTransfer extends TransferContent {
  id: string;
  previewId: string;
  sourceTenantId: string;
  targetTenantId: string;
  mode: Transfer['mode'];
  asked: Transfer['asked'];
}

/** Begins a transfer, and uses its preview. Throws `resource_locked` if another transfer uses a resource of it. */
export async function insertTransfer(
  db: Queryable,
  jobs: TransferJobs,
  transfer: NewTransfer,
): Promise<Transfer> {
  const { id, previewId, sourceTenantId, targetTenantId, mode, asked, ...content } = transfer;
  const inserted = await db.one<Row>(
    `insert into tenant.transfers (id, preview_id, source_tenant_id, target_tenant_id, mode, content, phase, asked)
     values ($1, $2, $3, $4, $5, $6, 'locking', $7) returning ${columns}`,
    [
      ...[id, previewId, sourceTenantId, targetTenantId, mode],
      ...[JSON.stringify(content), JSON.stringify(asked)],
    ],
  );
  await db
    .query(
      `insert into tenant.transfer_resources (resource_id, transfer_id, tenant_id)
       select resource_id, $1, $2 from unnest($3::uuid[]) as resource_id order by 1`,
      [id, sourceTenantId, content.items.map((item) => item.id)],
    )
    .catch((error: unknown) => {
      if (!isUniqueViolation(error, 'transfer_resources_pkey')) throw error;
      throw new AppError('resource_locked', 'Another transfer uses one of the resources.', { cause: error });
    });
  await db.query('update tenant.transfer_previews set used_at = now() where id = $1', [previewId]);
  await addTransferJob(db, jobs, { id, sourceTenantId });
  return transferOf(inserted);
}

export async function addTransferJob(
  db: Queryable,
  jobs: TransferJobs,
  { id, sourceTenantId }: Pick<Transfer, 'id' | 'sourceTenantId'>,
): Promise<void> {
  await jobs.add(db, { task: 'transfer', tenantId: sourceTenantId, ids: { transferId: id }, key: id });
}

export async function findTransfer(db: Queryable, id: string): Promise<Transfer | null> {
  const row = await db.first<Row>(`select ${columns} from tenant.transfers where id = $1`, [id]);
  return row && transferOf(row);
}

/** Newest first, below the id `before`; one more than `limit` when there are more. */
export async function listTransfers(db: Queryable, { limit, before }: PageRequest): Promise<Transfer[]> {
  const rows = await db.all<Row>(
    `select ${columns} from tenant.transfers where $1::uuid is null or id < $1 order by id desc limit $2`,
    [before, limit + 1],
  );
  return rows.map(transferOf);
}

function transferOf({ content, ...row }: Row): Transfer {
  return { ...row, ...content };
}

/** Reads a caller's visible rows of transfers: all of them for an owner. */
export type ReadVisible = <Result>(
  caller: Principal,
  work: (db: Queryable) => Promise<Result>,
) => Promise<Result>;

export function readVisible({ app, system }: { app: Pool; system: Pool }): ReadVisible {
  return ({ tenantId }, work) => (tenantId === null ? work(system) : withTenant(app, tenantId, work));
}
