import type { Pool } from '@gatehouse/pg/pool';
import type { KeyName } from '../providers/resources.ts';
import { keyColumn, type StoredFile } from './file-store.ts';

/** Expiring files, and those with copies to be deleted at providers. */

/** Hides expired files, at most `limit`. Returns their number. */
export function hideExpired(pool: Pool, limit: number): Promise<number> {
  return pool.count(
    `update chat.files set deleted_at = now(), due_at = now() where deleted_at is null and id = any (array(
       select id from chat.files where deleted_at is null and expires_at <= now() order by expires_at limit $1))`,
    [limit],
  );
}

/** A file with a copy to be deleted at the provider. */
export interface HiddenFile {
  id: string;
  purpose: StoredFile['purpose'];
  tenantId: string;
  key: KeyName;
  /** Null after an upload with an unknown end. */
  providerFileId: string | null;
  createdAt: Date;
  /** Attempts so far, with this one. */
  tries: number;
  /** Whether a batch under way needs it, so it stays for now. */
  needed: boolean;
}

/**
 * Takes the file of a tenant at a provider due for the longest time, and sets when the next attempt comes should this
 * one fail; null if no file is due.
 */
export function takeHidden(
  pool: Pool,
  { tenantId, provider }: { tenantId: string; provider: string },
): Promise<HiddenFile | null> {
  return pool.first<HiddenFile>(
    `with taken as (
       select id, exists (select from chat.batches b where b.input_file_id = d.id and b.ended_at is null) as needed
       from chat.files d
       where deleted_at is not null and provider = $2 and tenant_id = $1 and due_at <= now()
       order by due_at limit 1 for update skip locked
     )
     update chat.files f set tries = tries + case when needed then 0 else 1 end,
       due_at = now() + interval '1 minute' * case when needed then 1 else power(4, least(tries, 6)) end
     from taken where f.id = taken.id
     returning f.id, purpose, tenant_id as "tenantId", ${keyColumn}, provider_file_id as "providerFileId",
       created_at as "createdAt", tries, needed`,
    [tenantId, provider],
  );
}

export async function deleteFile(pool: Pool, id: string): Promise<void> {
  await pool.query('delete from chat.files where id = $1 and deleted_at is not null', [id]);
}
