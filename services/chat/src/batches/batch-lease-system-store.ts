import type { Pool } from '@gatehouse/pg/pool';
import type { KeyName } from '../providers/resources.ts';
import type { BatchApiName } from './batch-api.ts';
import type { StartedRun } from '../runs/run-record.ts';

/** Batches under way, each worked on by one replica at a time. */

/** A batch that a replica works on. */
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
  /** Text of the prices of its start; null where its model had none. */
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

interface LeasedRow {
  id: string;
  tenant_id: string;
  user_id: string | null;
  provider: string;
  key_id: string | null;
  own_key_id: string | null;
  api: BatchApiName;
  provider_batch_id: string | null;
  input_file_id: string;
  provider_file_id: string;
  model: string;
  upstream_model: string;
  price: string | null;
  requests: number;
  reserved_input_tokens: string;
  reserved_tokens: string;
  run: string;
  days: number;
  created_at: Date;
  age_ms: number;
  failing_ms: number | null;
  polls: number;
  forgotten: boolean;
}

/** Takes a batch that is due, for `leaseMs`; null where another replica has it. */
export async function leaseBatch(
  pool: Pool,
  id: string,
  { leaseId, leaseMs }: { leaseId: string; leaseMs: number },
): Promise<LeasedBatch | null> {
  const { rows } = await pool.query<LeasedRow>(
    `update chat.batches set lease_id = $2, due_at = now() + make_interval(secs => $3 / 1000.0)
     where id = $1 and ended_at is null and due_at <= now()
     returning id, tenant_id, user_id, provider, key_id, own_key_id, api, provider_batch_id, input_file_id,
       provider_file_id, model, upstream_model, price, requests, reserved_input_tokens, reserved_tokens, run, days, created_at,
       (extract(epoch from now() - created_at) * 1000)::float8 as age_ms,
       (extract(epoch from now() - failing_since) * 1000)::float8 as failing_ms, polls, forgotten`,
    [id, leaseId, leaseMs],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { provider, key_id: keyId, own_key_id: ownKeyId } = row;
  return {
    ...{ id: row.id, tenantId: row.tenant_id, userId: row.user_id, key: { provider, keyId, ownKeyId } },
    ...{ api: row.api, providerBatchId: row.provider_batch_id, inputFileId: row.input_file_id },
    ...{ providerFileId: row.provider_file_id, model: row.model, upstreamModel: row.upstream_model },
    reservedInputTokens: Number(row.reserved_input_tokens),
    reservedOutputTokens: Number(row.reserved_tokens) - Number(row.reserved_input_tokens),
    ...{ price: row.price, requests: row.requests },
    run: JSON.parse(row.run) as StartedRun,
    ...{ days: row.days, createdAt: row.created_at, ageMs: Math.round(row.age_ms), polls: row.polls },
    ...{ failingMs: row.failing_ms, forgotten: row.forgotten, leaseId },
  };
}

type Lease = Pick<LeasedBatch, 'id' | 'leaseId'>;

/** Keeps a batch for another `leaseMs`. Returns false if the lease is lost. */
export async function renewLease(pool: Pool, { id, leaseId }: Lease, leaseMs: number): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update chat.batches set due_at = now() + make_interval(secs => $3 / 1000.0)
     where id = $1 and lease_id = $2 and ended_at is null`,
    [id, leaseId, leaseMs],
  );
  return rowCount === 1;
}

/** Gives a batch back as it was, for any replica after a pause. */
export async function releaseBatch(pool: Pool, { id, leaseId }: Lease, pauseMs: number): Promise<void> {
  await pool.query(
    `update chat.batches set lease_id = null, due_at = now() + make_interval(secs => $3 / 1000.0)
     where id = $1 and lease_id = $2 and ended_at is null`,
    [id, leaseId, pauseMs],
  );
}

/** Returns a batch that goes on, with how the provider describes it. */
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

/** The provider's ids, among these, that belong to known batches. */
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

/** Deletes batches that ended long ago, at most `limit`. Returns their number. */
export async function deleteExpiredBatches(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from chat.batches where ended_at is not null and id = any (array(
       select id from chat.batches where ended_at is not null and expires_at <= now() order by expires_at limit $1))`,
    [limit],
  );
  return rowCount ?? 0;
}
