import type { Pool } from '@gatehouse/pg/pool';
import type { KeyName } from '../providers/resources.ts';
import type { BatchApiName } from './batch-api.ts';
import type { StartedRun } from '../runs/run-record.ts';
import { keyColumn } from './file-store.ts';

/** Batches under way, each worked on by one replica at a time. */

/** A batch a replica works on. */
export interface LeasedBatch {
  id: string;
  tenantId: string;
  userId: string | null;
  key: KeyName;
  api: BatchApiName;
  providerBatchId: string | null;
  inputFileId: string;
  providerFileId: string;
  model: string;
  upstreamModel: string;
  /** Text of the prices of its start; null where its model had no price. */
  price: string | null;
  requests: number;
  reservedInputTokens: number;
  reservedOutputTokens: number;
  run: StartedRun;
  days: number;
  createdAt: Date;
  ageMs: number;
  /** How long the provider could not be asked about it; null while it can. */
  failingMs: number | null;
  polls: number;
  forgotten: boolean;
  leaseId: string;
}

/** Takes a due batch, for `leaseMs`; null where another replica has it. */
export function leaseBatch(
  pool: Pool,
  id: string,
  { leaseId, leaseMs }: { leaseId: string; leaseMs: number },
): Promise<LeasedBatch | null> {
  return pool.first<LeasedBatch>(
    `update chat.batches set lease_id = $2, due_at = now() + make_interval(secs => $3 / 1000.0)
     where id = $1 and ended_at is null and due_at <= now()
     returning id, tenant_id as "tenantId", user_id as "userId", ${keyColumn}, api,
       provider_batch_id as "providerBatchId", input_file_id as "inputFileId", provider_file_id as "providerFileId",
       model, upstream_model as "upstreamModel", price, requests, reserved_input_tokens::float8 as "reservedInputTokens",
       (reserved_tokens - reserved_input_tokens)::float8 as "reservedOutputTokens", run::json, days,
       created_at as "createdAt", round(extract(epoch from now() - created_at) * 1000)::float8 as "ageMs",
       (extract(epoch from now() - failing_since) * 1000)::float8 as "failingMs", polls, forgotten, lease_id as "leaseId"`,
    [id, leaseId, leaseMs],
  );
}

type Lease = Pick<LeasedBatch, 'id' | 'leaseId'>;

/** Keeps a batch for another `leaseMs`. Returns false if the lease is lost. */
export function renewLease(pool: Pool, { id, leaseId }: Lease, leaseMs: number): Promise<boolean> {
  return pool.exists(
    `update chat.batches set due_at = now() + make_interval(secs => $3 / 1000.0)
     where id = $1 and lease_id = $2 and ended_at is null`,
    [id, leaseId, leaseMs],
  );
}

/** Gives a batch back as it was, for any replica after a pause. */
export async function releaseBatch(pool: Pool, { id, leaseId }: Lease, pauseMs: number): Promise<void> {
  await pool.query(
    `update chat.batches set lease_id = null, due_at = now() + make_interval(secs => $3 / 1000.0)
     where id = $1 and lease_id = $2 and ended_at is null`,
    [id, leaseId, pauseMs],
  );
}

/** Returns an unfinished batch, with the provider's description of it. */
export async function returnBatch(
  pool: Pool,
  { id, leaseId }: Lease,
  { content, pauseMs }: { content: Buffer; pauseMs: number },
): Promise<void> {
  await pool.query(
    `update chat.batches set content = $3, polls = polls + 1, failing_since = null, lease_id = null,
       due_at = now() + make_interval(secs => $4 / 1000.0)
     where id = $1 and lease_id = $2 and ended_at is null`,
    [id, leaseId, content, pauseMs],
  );
}

/** Returns a batch about which the provider could not be asked. */
export async function returnFailing(pool: Pool, { id, leaseId }: Lease, pauseMs: number): Promise<void> {
  await pool.query(
    `update chat.batches set polls = polls + 1, failing_since = coalesce(failing_since, now()), lease_id = null,
       due_at = now() + make_interval(secs => $3 / 1000.0)
     where id = $1 and lease_id = $2 and ended_at is null`,
    [id, leaseId, pauseMs],
  );
}

/** The provider's ids, among these, of known batches. */
export async function knownIds(
  pool: Pool,
  provider: string,
  providerIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ id: string }>(
    `select provider_batch_id as id from chat.batches where provider = $1 and provider_batch_id = any ($2::text[])`,
    [provider, providerIds],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Deletes batches ended long ago, at most `limit`. Returns their number. */
export function deleteExpiredBatches(pool: Pool, limit: number): Promise<number> {
  return pool.count(
    `delete from chat.batches where ended_at is not null and id = any (array(
       select id from chat.batches where ended_at is not null and expires_at <= now() order by expires_at limit $1))`,
    [limit],
  );
}
