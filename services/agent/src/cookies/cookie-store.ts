import type { PageRows } from '@gatehouse/kit/page';
import type { OldRows } from '@gatehouse/pg/clean-up-store';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import type { Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { placeOf, type Cookie, type CookieOwner } from './cookie.ts';
import { cookieDays } from '../bounds.ts';

/** A cookie to store. */
export interface NewCookie extends Cookie {
  id: string;
  /** Encrypted. */
  value: Buffer;
}

export interface StoredCookie extends Cookie {
  id: string;
  agentId: string;
  source: string;
  createdAt: Date;
  updatedAt: Date;
}

export interface CookieFilter {
  agentId: string | null;
  domain: string | null;
}

interface User {
  tenantId: string;
  userId: string;
}

/** Cookies given to agents by users, of one tenant at a time. */
export class CookieStore extends Store {
  /** The newest first, below the id `before`. */
  list(
    { tenantId, userId }: User,
    { agentId, limit, before }: { agentId: string | null; limit: number; before: string | null },
  ): Promise<PageRows<StoredCookie>> {
    return readPage<StoredCookie>(this.tenant(tenantId), {
      columns: `id, agent_id as "agentId", name, domain, host_only as "hostOnly", path, secure,
          http_only as "httpOnly", same_site as "sameSite", partition_key as "partitionKey",
          expires_at as "expiresAt", source, created_at as "createdAt", updated_at as "updatedAt"`,
      from: `agent.cookies where tenant_id = $1 and user_id = $2 and kept_until > now()
          and ($3::uuid is null or agent_id = $3) and ($4::uuid is null or id < $4)`,
      order: 'id desc',
      size: sizeOf('name', 'domain', 'path', 'partition_key', 'source'),
      limit,
      values: [tenantId, userId, agentId, before],
    });
  }

  /** The cookies of an owner for some domains, encrypted. */
  findOf(
    { tenantId, userId, agentId }: CookieOwner,
    domains: readonly string[],
  ): Promise<(NewCookie & { createdAt: Date })[]> {
    return this.tenant(tenantId).all(
      `select id, name, value, domain, host_only as "hostOnly", path, secure, http_only as "httpOnly",
          same_site as "sameSite", partition_key as "partitionKey", expires_at as "expiresAt",
          created_at as "createdAt"
        from agent.cookies where tenant_id = $1 and user_id = $2 and agent_id = $3 and domain = any ($4)
          and kept_until > now() and (expires_at is null or expires_at > now())`,
      [tenantId, userId, agentId, domains],
    );
  }

  /** Deletes cookies of a user. */
  async delete({ tenantId, userId }: User, { agentId, domain }: CookieFilter): Promise<void> {
    await this.tenant(tenantId).query(
      `delete from agent.cookies where tenant_id = $1 and user_id = $2
        and ($3::uuid is null or agent_id = $3) and ($4::text is null or domain = $4)`,
      [tenantId, userId, agentId, domain],
    );
  }

  /** Deletes up to `limit` cookies of a user from before a time; returns how many. */
  async forget({ tenantId, userId, before }: User & { before: Date }, limit: number): Promise<number> {
    return this.tenant(tenantId).count(
      `delete from agent.cookies where id = any (array(
        select id from agent.cookies where tenant_id = $1 and user_id = $2 and updated_at <= $3 limit $4))`,
      [tenantId, userId, before, limit],
    );
  }
}

/**
 * Stores cookies of a user for an agent, each in the place of an older one. With `replace`, deletes the others of the
 * agent; `expired` are deleted in any case. Returns how many were deleted, and how many the user has then.
 */
export async function syncCookies(
  db: Queryable,
  owner: CookieOwner,
  {
    cookies,
    expired,
    replace,
    source,
  }: { cookies: readonly NewCookie[]; expired: readonly Cookie[]; replace: boolean; source: string },
): Promise<{ deleted: number; remaining: number }> {
  const { tenantId, userId, agentId } = owner;
  // One sync of a user after the other: their number is limited.
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`cookies ${tenantId} ${userId}`]);
  const deleted = await deleteOthers(db, owner, { cookies, expired, replace });
  const column = <Value>(valueOf: (cookie: NewCookie) => Value): Value[] => cookies.map(valueOf);
  await db.query(
    `insert into agent.cookies (tenant_id, user_id, agent_id, source, kept_until, id, name, value, domain, host_only,
       path, secure, http_only, same_site, partition_key, expires_at, place)
     select $1, $2, $3, $4, least(now() + interval '${cookieDays} days', c.expires_at), c.id, c.name,
       c.value, c.domain, c.host_only, c.path, c.secure, c.http_only, c.same_site, c.partition_key, c.expires_at,
       decode(c.place, 'hex')
     from unnest($5::uuid[], $6::text[], $7::bytea[], $8::text[], $9::boolean[], $10::text[], $11::boolean[],
       $12::boolean[], $13::text[], $14::text[], $15::timestamptz[], $16::text[])
       as c (id, name, value, domain, host_only, path, secure, http_only, same_site, partition_key, expires_at, place)
     on conflict (tenant_id, user_id, agent_id, place)
     -- The id is part of what the value is encrypted for.
     do update set id = excluded.id, value = excluded.value, secure = excluded.secure,
       http_only = excluded.http_only, same_site = excluded.same_site, expires_at = excluded.expires_at,
       kept_until = excluded.kept_until, source = excluded.source, updated_at = now()`,
    [
      ...[tenantId, userId, agentId, source],
      column(({ id }) => id),
      column(({ name }) => name),
      column(({ value }) => value),
      column(({ domain }) => domain),
      column(({ hostOnly }) => hostOnly),
      column(({ path }) => path),
      column(({ secure }) => secure),
      column(({ httpOnly }) => httpOnly),
      column(({ sameSite }) => sameSite),
      column(({ partitionKey }) => partitionKey),
      column(({ expiresAt }) => expiresAt),
      column(placeOf),
    ],
  );
  const { count } = await db.one<{ count: number }>(
    'select count(*)::integer as count from agent.cookies where tenant_id = $1 and user_id = $2',
    [tenantId, userId],
  );
  return { deleted, remaining: count };
}

async function deleteOthers(
  db: Queryable,
  { tenantId, userId, agentId }: CookieOwner,
  { cookies, expired, replace }: { cookies: readonly Cookie[]; expired: readonly Cookie[]; replace: boolean },
): Promise<number> {
  if (expired.length === 0 && !replace) return 0;
  return db.count(
    `delete from agent.cookies where tenant_id = $1 and user_id = $2 and agent_id = $3
      and case when $4 then encode(place, 'hex') <> all ($5) else encode(place, 'hex') = any ($5) end`,
    [tenantId, userId, agentId, replace, (replace ? cookies : expired).map(placeOf)],
  );
}

/** `agent_system` can't read all columns, so not by `ctid`. */
export const oldCookies: OldRows = {
  table: 'agent.cookies',
  where: 'kept_until <= now()',
  order: 'kept_until',
  key: 'id',
};
