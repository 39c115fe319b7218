import { tenantDb } from '@gatehouse/pg/store';
import { plainArray } from '@gatehouse/pg/arrays';
import { withTenantSnapshot, type Pool } from '@gatehouse/pg/pool';
import { beganAt, digestOf, forgottenSince } from '../shared/forgotten-user-store.ts';
import { maxStoredDays, newestWithItem, pageBytes } from '../bounds.ts';

/** Stored responses. Each statement waits for the tenant's turn, and names the user. */

/** Tenant and user of a response. */
export interface Holder {
  tenantId: string;
  /** Null for a key without a user. */
  userId: string | null;
}

export interface NewResponse extends Holder {
  /** The id of the run. */
  id: string;
  previousId: string | null;
  provider: string;
  /** Encrypted. */
  content: Buffer;
  /** Keys of the items by which it is found, without repeats. */
  itemKeys: readonly bigint[];
  /** The age of its run. */
  ageMs: number;
}

/** A response as part of a conversation. */
export interface ResponseRow {
  id: string;
  previous_id: string | null;
  provider: string;
  bytes: number;
}

const holderCondition = 'tenant_id = $2 and user_id is not distinct from $3 and ready';

/**
 * Writes an unfinished response, while its run lasts; nothing for a user forgotten meanwhile. Its run's end makes it
 * ready: see `showingKept`. It expires after the longest time; the current retention of its tenant may end before.
 */
export async function insertResponse(pool: Pool, response: NewResponse): Promise<void> {
  const { id, tenantId, userId, previousId, provider, content, itemKeys, ageMs } = response;
  const values = [
    ...[id, tenantId, userId, previousId, provider, content, content.length, maxStoredDays, itemKeys],
    ...[digestOf(tenantId, userId), ageMs],
  ];
  await tenantDb(pool, tenantId).query(
    `with kept as (
       insert into chat.responses (id, tenant_id, user_id, previous_id, provider, content, bytes, days,
         created_at)
       select $1, $2, $3, $4, $5, $6, $7, $8, ${beganAt('$11')} where not ${forgottenSince('$2', '$10', '$11')}
       returning id, tenant_id
     )
     insert into chat.response_items (response_id, tenant_id, item_key)
     select id, tenant_id, item_key from kept cross join unnest($9::bigint[]) as item_key`,
    values,
  );
}

/** Responses read at once, and their size. */
export type HeldRow = Pick<ResponseRow, 'id' | 'provider' | 'bytes'>;

/** The newest response with an item, by the keys of items; no entry for those in no response of the holder. */
export async function findItems(
  pool: Pool,
  keys: readonly bigint[],
  { tenantId, userId, days }: Holder & { days: number },
): Promise<ReadonlyMap<bigint, HeldRow>> {
  const rows = await tenantDb(pool, tenantId).all<HeldRow & { item_key: string }>(
    `select asked.item_key, found.id, found.provider, found.bytes
     from unnest($1::bigint[]) as asked (item_key) cross join lateral (
       select r.id, r.provider, r.bytes from (
         select response_id from chat.response_items i
         where i.tenant_id = $2 and i.item_key = asked.item_key order by response_id desc limit ${newestWithItem}
       ) having_it cross join lateral (
         -- The limit keeps the conditions below from leading to all responses of the user.
         select id, provider, bytes, tenant_id, user_id, ready, created_at
         from chat.responses where id = having_it.response_id limit 1
       ) r
       where r.tenant_id = $2 and r.user_id is not distinct from $3 and r.ready
         and r.created_at > now() - make_interval(days => $4)
       -- In the order of the index above, so that the first that fits ends the search.
       order by having_it.response_id desc limit 1
     ) found`,
    [keys, tenantId, userId, days],
  );
  return new Map(rows.map(({ item_key, ...row }) => [BigInt(item_key), row]));
}

/** The responses of the holder among these. */
export function findResponses(
  pool: Pool,
  ids: readonly string[],
  { tenantId, userId, days }: Holder & { days: number },
): Promise<HeldRow[]> {
  return tenantDb(pool, tenantId).all<HeldRow>(
    `select r.id, r.provider, r.bytes from unnest($1::uuid[]) as asked (id) cross join lateral (
       select id, provider, bytes, tenant_id, user_id, ready, created_at
       from chat.responses where id = asked.id limit 1
     ) r
     where r.tenant_id = $2 and r.user_id is not distinct from $3 and r.ready
       and r.created_at > now() - make_interval(days => $4)`,
    [plainArray(ids), tenantId, userId, days],
  );
}

/**
 * A response and those it went on from, the newest first: at most `max`, and no response older than `days`. The last
 * one names another if it is gone, or too far away.
 */
export function findConversation(
  pool: Pool,
  id: string,
  { tenantId, userId, days, max }: Holder & { days: number; max: number },
): Promise<ResponseRow[]> {
  return tenantDb(pool, tenantId).all<ResponseRow>(
    `with recursive conversation as (
       select id, previous_id, provider, bytes, 1 as place from chat.responses
       where id = $1 and ${holderCondition} and created_at > now() - make_interval(days => $4)
       union all
       select r.id, r.previous_id, r.provider, r.bytes, place + 1
       from conversation c cross join lateral (
         -- The limit keeps the conditions below from leading to all responses of the user.
         select id, previous_id, provider, bytes, tenant_id, user_id, ready, created_at
         from chat.responses where id = c.previous_id limit 1
       ) r
       where c.place < $5 and r.tenant_id = $2 and r.user_id is not distinct from $3 and r.ready
         and r.created_at > now() - make_interval(days => $4)
     )
     select id, previous_id, provider, bytes from conversation order by place`,
    [id, tenantId, userId, days, max],
  );
}

/**
 * Encrypted contents of responses, in their order, each read as late as possible: small ones together, up to a page,
 * and the others in pages. Null for one already gone.
 */
export async function* readContents<Row extends HeldRow>(
  pool: Pool,
  tenantId: string,
  rows: readonly Row[],
): AsyncGenerator<[Row, Buffer | null], void> {
  for (const group of groupsOf(rows)) {
    const [first] = group;
    const contents =
      group.length === 1 && first !== undefined
        ? new Map([[first.id, await readPages(pool, tenantId, first.id)]])
        : await readTogether(
            pool,
            tenantId,
            group.map(({ id }) => id),
          );
    for (const row of group) {
      const content = contents.get(row.id) ?? null;
      contents.delete(row.id);
      yield [row, content];
    }
  }
}

/** Neighbours with contents of a page at most together, or one. */
function groupsOf<Row extends HeldRow>(rows: readonly Row[]): Row[][] {
  const groups: Row[][] = [];
  let bytes = Infinity;
  for (const row of rows) {
    bytes += row.bytes;
    if (bytes > pageBytes) {
      groups.push([]);
      bytes = row.bytes;
    }
    groups.at(-1)?.push(row);
  }
  return groups;
}

async function readTogether(
  pool: Pool,
  tenantId: string,
  ids: readonly string[],
): Promise<Map<string, Buffer | null>> {
  const rows = await tenantDb(pool, tenantId).all<{ id: string; content: Buffer }>(
    'select id, content from chat.responses where id = any($1::uuid[])',
    [plainArray(ids)],
  );
  return new Map(rows.map(({ id, content }) => [id, content]));
}

/** A snapshot, since a response may be sealed with another key between two pages. */
function readPages(pool: Pool, tenantId: string, id: string): Promise<Buffer | null> {
  return withTenantSnapshot(pool, tenantId, async (db) => {
    let content: Buffer | null = null;
    let at = 0;
    do {
      const row = await db.first<{ page: Buffer; bytes: number }>(
        `select substring(content from $2::integer for ${pageBytes}) as page, octet_length(content) as bytes
         from chat.responses where id = $1`,
        [id, at + 1],
      );
      if (row === null) return null;
      content ??= Buffer.allocUnsafeSlow(row.bytes);
      at += row.page.copy(content, at);
    } while (at < content.length);
    return content;
  });
}

/** Returns false if it doesn't exist. */
export function deleteResponse(pool: Pool, id: string, { tenantId, userId }: Holder): Promise<boolean> {
  return tenantDb(pool, tenantId).exists(`delete from chat.responses where id = $1 and ${holderCondition}`, [
    id,
    tenantId,
    userId,
  ]);
}
