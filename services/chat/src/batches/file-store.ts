import { tenantDb } from '@gatehouse/pg/store';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { KeyName } from '../providers/resources.ts';

/** Files of batches. Each statement waits for the tenant's turn, and names the user. */

/** Tenant and user of a file or a batch. */
export interface Holder {
  tenantId: string;
  /** Null for a key without a user. */
  userId: string | null;
}

export interface StoredFile {
  id: string;
  /** Requests, results, or a batch of Anthropic's API with its results, which is not shown as a file. */
  purpose: 'batch' | 'batch_output' | 'message_batch';
  key: KeyName;
  providerFileId: string;
  /** JSON of its requests; null for results. */
  requests: string | null;
  /** Encrypted. */
  content: Buffer;
}

/** A {@link KeyName}. */
export const keyColumn = `json_build_object('provider', provider, 'keyId', key_id, 'ownKeyId', own_key_id) as key`;

const columns = `id, purpose, ${keyColumn}, provider_file_id as "providerFileId", requests, content`;
const inHolder = `tenant_id = $1 and coalesce(user_id, '') = coalesce($2, '') and deleted_at is null
  and purpose <> 'message_batch'`;

/** More of the transaction of a change. */
export type Within = (db: Queryable) => Promise<void>;

/**
 * Writes a file at the begin of its upload, unless the tenant has `most` already. It is hidden, and looked for at its
 * provider after `lookAfterMs` unless the upload has ended by then. Returns whether it was written.
 */
export async function beginFile(
  pool: Pool,
  { id, key }: Pick<StoredFile, 'id' | 'key'>,
  { tenantId, userId, days, most, lookAfterMs }: Holder & { days: number; most: number; lookAfterMs: number },
): Promise<boolean> {
  return withTenant(pool, tenantId, async (db) => {
    await lockTenant(db, tenantId);
    return db.exists(
      `insert into chat.files (id, tenant_id, user_id, purpose, provider, key_id, own_key_id, content, expires_at,
         deleted_at, due_at)
       select $1, $2, $3, 'batch', $4, $5, $6, '', now() + make_interval(days => $7), now(),
              now() + make_interval(secs => $9 / 1000.0)
       where (select count(*) from chat.files where tenant_id = $2) < $8`,
      [id, tenantId, userId, key.provider, key.keyId, key.ownKeyId, days, most, lookAfterMs],
    );
  });
}

/**
 * Shows a file the provider has, with what is `within` the transaction. Returns false, and does nothing, if it was
 * deleted meanwhile, as with its user.
 */
export async function showFile(
  pool: Pool,
  file: Omit<StoredFile, 'purpose' | 'key'> & { expiresAfterS: number | null },
  { tenantId, userId, within }: Holder & { within: Within },
): Promise<boolean> {
  const { id, providerFileId, requests, content, expiresAfterS } = file;
  return withTenant(pool, tenantId, async (db) => {
    const isShown = await db.exists(
      `update chat.files set provider_file_id = $4, requests = $5, content = $6, deleted_at = null, due_at = null,
         expires_at = least(expires_at, created_at + make_interval(secs => $7))
       where id = $3 and tenant_id = $1 and coalesce(user_id, '') = coalesce($2, '') and provider_file_id is null`,
      [tenantId, userId, id, providerFileId, requests, content, expiresAfterS],
    );
    if (!isShown) return false;
    await within(db);
    return true;
  });
}

/** Ends an upload without a file at the provider. */
export async function dropUpload(pool: Pool, id: string, tenantId: string): Promise<void> {
  await tenantDb(pool, tenantId).query('delete from chat.files where id = $1 and provider_file_id is null', [
    id,
  ]);
}

/** Ends an upload of which the provider may have a file: it is looked for in a minute. */
export async function seekUpload(pool: Pool, id: string, tenantId: string): Promise<void> {
  await tenantDb(pool, tenantId).query(
    `update chat.files set due_at = now() + interval '1 minute' where id = $1 and provider_file_id is null`,
    [id],
  );
}

/** Sums over the rows of a tenant, and writes depending on them, come one after the other. */
export async function lockTenant(db: Queryable, tenantId: string): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`batches of ${tenantId}`]);
}

/** Null for a file not there, or not the holder's. */
export function findFile(pool: Pool, id: string, { tenantId, userId }: Holder): Promise<StoredFile | null> {
  return tenantDb(pool, tenantId).first<StoredFile>(
    `select ${columns} from chat.files where ${inHolder} and id = $3 and expires_at > now()`,
    [tenantId, userId, id],
  );
}

/** A file as lists have it. */
export type ListedFile = Pick<StoredFile, 'id' | 'content'>;

/** A page of the holder's files behind the one with the id `after`, if there is one. */
export function listFiles(
  pool: Pool,
  { tenantId, userId }: Holder,
  page: { after: string | null; limit: number; order: 'asc' | 'desc'; purpose: string | null },
): Promise<ListedFile[]> {
  const { after, limit, order, purpose } = page;
  const beyond = order === 'asc' ? '>' : '<';
  return tenantDb(pool, tenantId).all<ListedFile>(
    `select id, content from chat.files
     where ${inHolder} and expires_at > now() and ($3::uuid is null or id ${beyond} $3) and ($4::text is null or purpose = $4)
     order by id ${order} limit $5`,
    [tenantId, userId, after, purpose, limit],
  );
}

/** Hides a file; its copy at the provider is deleted next. Returns false if it doesn't exist. */
export function hideFile(pool: Pool, id: string, { tenantId, userId }: Holder): Promise<boolean> {
  return tenantDb(pool, tenantId).exists(
    `update chat.files set deleted_at = now(), due_at = now() where ${inHolder} and id = $3`,
    [tenantId, userId, id],
  );
}
