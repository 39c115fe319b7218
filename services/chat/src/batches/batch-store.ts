import { tenantDb } from '@gatehouse/pg/store';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';
import type { KeyName } from '../providers/resources.ts';
import { pgJson } from '../shared/pg-json.ts';
import type { StartedRun } from '../runs/run-record.ts';
import type { BudgetCharge } from '../runs/run.ts';
import type { BatchApiName } from './batch-api.ts';
import { keyColumn, lockTenant, type Holder } from './file-store.ts';

/** Batches until they end. Statements for clients wait for the tenant's turn, and name the user. */

export interface NewBatch extends Holder {
  id: string;
  userDigest: Buffer | null;
  apiKeyId: string;
  key: KeyName;
  api: BatchApiName;
  /** Its own id, and an empty one at the provider, where its requests come with it. */
  inputFileId: string;
  providerFileId: string;
  /** The client's name of the first request, encrypted, where the provider knows it by another; else null. */
  firstId: Buffer | null;
  model: string;
  upstreamModel: string;
  /** Text of its prices; null where its model has no price. */
  price: string | null;
  requests: number;
  reserved: { inputTokens: number; tokens: number; pico: bigint };
  /** Budgets it was reserved in; null without one. */
  charges: readonly BudgetCharge[] | null;
  /** Instance with its reservation; null without one. */
  holderId: string | null;
  run: StartedRun;
  days: number;
  /** How long the provider may take to say whether it has the batch, before it is asked. */
  creationMs: number;
  /** Requests with a cost known only to the provider. */
  unmeasured: number;
  /** SHA-256 of its request with an `Idempotency-Key`; null without one. */
  requestDigest: Buffer | null;
}

/** Limits of a tenant's batches under way. */
export interface OpenBounds {
  batches: number;
  /** The most tokens of all together, of the tenant and of the key; null without a limit. */
  tokens: { tenant: bigint | null; key: bigint | null };
  /** Requests of all together with a cost known only to the provider; null without a budget. */
  unmeasured: number | null;
  /** Files of the tenant, where the batch counts as one; else null. */
  files: number | null;
}

/** Sums over the batches of a tenant under way. */
interface OpenSums {
  batches: string;
  tokens: string;
  of_key: string;
  unmeasured: string;
}

/** A batch answers repeats of its request for so long. */
const sameRequest = `tenant_id = $1 and request_digest = $2 and created_at > now() - interval '1 day'`;

/**
 * Commits a batch before its provider is asked for it, with its charge to the budgets: the most it can cost. Returns
 * the bound it would exceed, or `begun` where an earlier request with its `Idempotency-Key` has begun it; then nothing
 * is written.
 */
export async function insertBatch(
  pool: Pool,
  batch: NewBatch,
  bounds: OpenBounds,
): Promise<'batches' | 'files' | 'tenant' | 'key' | 'unmeasured' | 'begun' | null> {
  const { id, tenantId, userId, key, reserved, run, requestDigest } = batch;
  const charges = batch.charges === null ? null : JSON.stringify(batch.charges);
  return withTenant(pool, tenantId, async (db) => {
    await lockTenant(db, tenantId);
    if (requestDigest !== null) {
      const begun = await db.query(`select id from chat.batches where ${sameRequest}`, [
        tenantId,
        requestDigest,
      ]);
      if (begun.rows.length > 0) return 'begun';
    }
    const { rows } = await db.query<OpenSums>(
      `select count(*) as batches, coalesce(sum(reserved_tokens), 0) as tokens,
              coalesce(sum(reserved_tokens) filter (where api_key_id = $2), 0) as of_key,
              coalesce(sum(unmeasured), 0) as unmeasured
       from chat.batches where tenant_id = $1 and ended_at is null`,
      [tenantId, batch.apiKeyId],
    );
    const { batches, tokens, of_key: keyBatches, unmeasured } = only({ rows });
    const exceeds = (sum: string, most: bigint | null): boolean =>
      most !== null && BigInt(sum) + BigInt(reserved.tokens) > most;
    if (Number(batches) >= bounds.batches) return 'batches';
    if (bounds.files !== null && (await countKept(db, tenantId)) >= bounds.files) return 'files';
    if (exceeds(tokens, bounds.tokens.tenant)) return 'tenant';
    if (exceeds(keyBatches, bounds.tokens.key)) return 'key';
    const { unmeasured: unmeasuredTokens } = batch;
    if (
      unmeasuredTokens > 0 &&
      bounds.unmeasured !== null &&
      Number(unmeasured) + unmeasuredTokens > bounds.unmeasured
    )
      return 'unmeasured';
    await db.query(
      `with begun as (
         insert into chat.batches (id, tenant_id, user_id, user_digest, api_key_id, provider, key_id, own_key_id,
           input_file_id, provider_file_id, model, upstream_model, reserved_input_tokens, reserved_tokens, reserved_pico,
           charges, run, days, due_at, requests, request_digest, price, unmeasured, api, first_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
           now() + make_interval(secs => $19 / 1000.0), $21, $22, $23, $24, $25, $26)
         returning tenant_id
       )
       insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico)
       select tenant_id, $20::uuid, $16, $15 from begun where $16::text is not null`,
      [
        ...[id, tenantId, userId, batch.userDigest, batch.apiKeyId, key.provider, key.keyId, key.ownKeyId],
        ...[batch.inputFileId, batch.providerFileId, batch.model, batch.upstreamModel],
        ...[reserved.inputTokens, reserved.tokens, reserved.pico, charges, pgJson(run), batch.days],
        ...[batch.creationMs, batch.holderId, batch.requests, requestDigest, batch.price, batch.unmeasured],
        ...[batch.api, batch.firstId],
      ],
    );
    return null;
  });
}

/** Files of a tenant, and batches under way, which become files. */
async function countKept(db: Queryable, tenantId: string): Promise<number> {
  const { rows } = await db.query<{ count: string }>(
    `select (select count(*) from chat.files where tenant_id = $1) +
            (select count(*) from chat.batches where tenant_id = $1 and ended_at is null and api = 'anthropic') as count`,
    [tenantId],
  );
  return Number(only({ rows }).count);
}

/** A batch as its client sees it. */
export interface StoredBatch {
  id: string;
  key: KeyName;
  api: BatchApiName;
  firstId: Buffer | null;
  providerBatchId: string;
  inputFileId: string;
  outputFileId: string | null;
  errorFileId: string | null;
  /** Encrypted. */
  content: Buffer;
  ended: boolean;
}

const batchColumns = `id, ${keyColumn}, api, first_id as "firstId", provider_batch_id as "providerBatchId",
  input_file_id as "inputFileId", output_file_id as "outputFileId", error_file_id as "errorFileId", content,
  ended_at is not null as ended`;
const inHolder = `tenant_id = $1 and coalesce(user_id, '') = coalesce($2, '') and content is not null and not forgotten
  and (expires_at is null or expires_at > now())`;

/** Null for a batch not there, or not the holder's. */
export function findBatch(
  pool: Pool,
  { id, api }: { id: string; api: BatchApiName },
  { tenantId, userId }: Holder,
): Promise<StoredBatch | null> {
  return tenantDb(pool, tenantId).first<StoredBatch>(
    `select ${batchColumns} from chat.batches where ${inHolder} and id = $3 and api = $4`,
    [tenantId, userId, id, api],
  );
}

/**
 * Batch begun by a request with an `Idempotency-Key`: null without one, and `pending` while it is not known whether its
 * provider has it.
 */
export async function findRequested(
  pool: Pool,
  tenantId: string,
  requestDigest: Buffer,
): Promise<StoredBatch | 'pending' | null> {
  const row = await tenantDb(pool, tenantId).first<Omit<StoredBatch, 'content'> & { content: Buffer | null }>(
    `select ${batchColumns} from chat.batches where ${sameRequest} and not forgotten`,
    [tenantId, requestDigest],
  );
  if (row === null) return null;
  const { content } = row;
  return content === null ? 'pending' : { ...row, content };
}

/** Place of a page in a list: behind a batch, or before one, beginning with the one next to it. */
export interface BatchPage {
  after: string | null;
  before: string | null;
  limit: number;
}

/** A page of the holder's batches of an API: newest first, or oldest first before a batch. */
export function listBatches(
  pool: Pool,
  { tenantId, userId }: Holder,
  { api, after, before, limit }: BatchPage & { api: BatchApiName },
): Promise<StoredBatch[]> {
  const [beyond, order] = before === null ? ['<', 'desc'] : ['>', 'asc'];
  return tenantDb(pool, tenantId).all<StoredBatch>(
    `select ${batchColumns} from chat.batches
     where ${inHolder} and api = $5 and ($3::uuid is null or id ${beyond} $3) order by id ${order} limit $4`,
    [tenantId, userId, before ?? after, limit, api],
  );
}

/**
 * Hides an ended batch, and its results, which are deleted at the provider next. Returns false without one of the
 * holder.
 */
export function hideBatch(
  pool: Pool,
  { id, api }: { id: string; api: BatchApiName },
  { tenantId, userId }: Holder,
): Promise<boolean> {
  return tenantDb(pool, tenantId).exists(
    `with hidden as (
       update chat.batches set content = null, expires_at = now()
       where ${inHolder} and id = $3 and api = $4 and ended_at is not null
       returning id, output_file_id
     ), results as (
       update chat.files set deleted_at = now(), due_at = now() from hidden
       where chat.files.id = output_file_id and deleted_at is null
     )
     select id from hidden`,
    [tenantId, userId, id, api],
  );
}

/** The provider has the batch, but it was given up here meanwhile. */
export class BatchGone extends Error {}

/**
 * The provider has the batch: publishes the begin of its run, unless already known. Throws {@link BatchGone}, and does
 * nothing, where no row has the batch any more. `db`: in a transaction.
 */
export async function confirmBatch(
  db: Queryable,
  id: string,
  { providerBatchId, content, pauseMs }: { providerBatchId: string; content: Buffer; pauseMs: number },
): Promise<void> {
  await db.query(
    `with begun as (
         update chat.batches set provider_batch_id = $2, content = $3, lease_id = null, polls = 0, failing_since = null,
           due_at = now() + make_interval(secs => $4 / 1000.0)
         where id = $1 and ended_at is null and provider_batch_id is null
         returning id, tenant_id, created_at, run
       )
       insert into chat.outbox (tenant_id, run_id, started_at, data)
       select tenant_id, id, created_at, run from begun`,
    [id, providerBatchId, content, pauseMs],
  );
  const { rowCount } = await db.query('select from chat.batches where id = $1 and provider_batch_id = $2', [
    id,
    providerBatchId,
  ]);
  if (rowCount === 0) throw new BatchGone(`the batch ${id} was given up`);
}

/**
 * Replaces the description of a batch under way, which is asked about again after a pause. A replica asking about it
 * loses the lease: its answer may be older.
 */
export async function describeBatch(
  pool: Pool,
  { id, tenantId }: { id: string; tenantId: string },
  { content, pauseMs }: { content: Buffer; pauseMs: number },
): Promise<void> {
  await tenantDb(pool, tenantId).query(
    `update chat.batches set content = $2, polls = 0, lease_id = null, due_at = least(due_at, now() + make_interval(secs => $3 / 1000.0))
     where id = $1 and ended_at is null`,
    [id, content, pauseMs],
  );
}

/**
 * Deletes a batch refused by its provider, so it never began: with the refund of its charge. Returns false if the
 * provider has it after all.
 */
export function voidBatch(db: Queryable, id: string): Promise<boolean> {
  return db.exists(
    `with voided as (
       delete from chat.batches where id = $1 and ended_at is null and provider_batch_id is null
       returning id, tenant_id, charges, reserved_pico
     ), costs as (
       insert into chat.run_costs (tenant_id, holder_id, charges, cost_pico)
       select tenant_id, id, charges, -reserved_pico from voided where charges is not null
     )
     select id from voided`,
    [id],
  );
}
