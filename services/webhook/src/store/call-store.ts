import type { PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { only } from '@gatehouse/pg/rows';
import type { CallError, CallKey, NewCall, StoredCall } from '../calls/call.ts';

const shown = `id, tenant_id as "tenantId", endpoint_id as "endpointId", agent_id as "agentId",
  delivery_id as "deliveryId", body_sha256 as "bodySha256", mode, status, user_id as "userId",
  session_id as "sessionId", metadata, callback_url as "callbackUrl", error, created_at as "createdAt",
  finished_at as "finishedAt"`;
const columns = `${shown}, request, result`;

const keptDays = 30;
const nothing = (): Promise<void> => Promise.resolve();

/** An earlier delivery with one of the keys; `by` says which. */
export interface KnownCall {
  call: StoredCall;
  by: CallKey['kind'];
}

/** A claim on a call: its holder works on it. */
export interface CallClaim {
  claimId: string;
  seconds: number;
}

/** Calls of one tenant at a time. */
export class CallStore {
  readonly #pool: Pool;

  /** `pool` acts as `webhook_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Newest first, below the id `before`. */
  async list(
    { tenantId, endpointId }: { tenantId: string; endpointId: string },
    { limit, before }: { limit: number; before: string | null },
  ): Promise<PageRows<StoredCall>> {
    return withTenant(this.#pool, tenantId, (db) =>
      readPage<StoredCall>(db, {
        columns: `${shown}, null as request, null as result`,
        from: 'webhook.calls where endpoint_id = $1 and ($2::uuid is null or id < $2)',
        order: 'id desc',
        size: sizeOf('metadata::text', 'callback_url', 'user_id', 'session_id', 'error::text'),
        limit,
        values: [endpointId, before],
      }),
    );
  }

  async find(tenantId: string, id: string): Promise<StoredCall | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<StoredCall>(`select ${columns} from webhook.calls where id = $1`, [id]);
      return rows[0] ?? null;
    });
  }

  /**
   * Counts a delivery of an endpoint in the current minute. Returns the number of them, and when the minute ends.
   */
  async countDelivery(of: {
    tenantId: string;
    endpointId: string;
  }): Promise<{ count: number; endsInMs: number }> {
    return withTenant(this.#pool, of.tenantId, async (db) =>
      only(
        await db.query<{ count: number; endsInMs: number }>(
          `insert into webhook.delivery_rates as known (endpoint_id, tenant_id, minute, deliveries)
           values ($1, $2, date_trunc('minute', now()), 1)
           on conflict (endpoint_id) do update set minute = excluded.minute,
             deliveries = case when known.minute = excluded.minute then known.deliveries + 1 else 1 end
           returning deliveries as count,
             extract(epoch from minute + interval '1 minute' - now())::float8 * 1000 as "endsInMs"`,
          [of.endpointId, of.tenantId],
        ),
      ),
    );
  }

  /**
   * Stores a call, claimed if it is `sync`, and does `also` in the same transaction. Returns the earlier call instead if
   * one of its keys is taken.
   */
  async add(
    call: NewCall,
    claim: CallClaim,
    also: (db: Queryable) => Promise<unknown>,
  ): Promise<KnownCall | null> {
    return withTenant(this.#pool, call.tenantId, async (db) => {
      const known = await knownCall(db, call);
      if (known !== null) return known;
      await insertCall(db, call, claim);
      for (const key of call.keys) await takeKey(db, call, key);
      await also(db);
      return null;
    });
  }

  /** Deletes up to `limit` calls that were for a user, from before a time. Returns how many. */
  async forget(
    { tenantId, userId, before }: { tenantId: string; userId: string; before: Date },
    limit: number,
  ): Promise<number> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rowCount } = await db.query(
        `delete from webhook.calls where id = any (array(
           select id from webhook.calls where tenant_id = $1 and user_id = $2 and created_at <= $3 limit $4))`,
        [tenantId, userId, before, limit],
      );
      return rowCount ?? 0;
    });
  }

  /** Takes over a call that no process works on any more. */
  async claim({ tenantId, id }: StoredCall, { claimId, seconds }: CallClaim): Promise<boolean> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rowCount } = await db.query(
        `update webhook.calls set claim_id = $2, claimed_until = now() + make_interval(secs => $3)
         where id = $1 and status = 'running' and claimed_until <= now()`,
        [id, claimId, seconds],
      );
      return rowCount === 1;
    });
  }

  /** Gives up a claim without a result: a repeat takes the call over. */
  async release({ tenantId }: { tenantId: string }, claimId: string): Promise<void> {
    await withTenant(this.#pool, tenantId, (db) =>
      db.query(`update webhook.calls set claimed_until = now() where claim_id = $1 and status = 'running'`, [
        claimId,
      ]),
    );
  }

  /** The first end counts, and `also` is done in its transaction. */
  async succeed(
    { tenantId, id }: { tenantId: string; id: string },
    result: Buffer,
    also: (db: Queryable) => Promise<unknown> = nothing,
  ): Promise<void> {
    await withTenant(this.#pool, tenantId, async (db) => {
      const { rowCount } = await db.query(
        `update webhook.calls set status = 'succeeded', result = $2, request = null, claimed_until = null,
           finished_at = clock_timestamp()
         where id = $1 and finished_at is null`,
        [id, result],
      );
      if (rowCount === 1) await also(db);
    });
  }

  /** As {@link succeed}. A repeat of the delivery then is a new call. */
  async fail(
    { tenantId, id }: { tenantId: string; id: string },
    error: CallError,
    also: (db: Queryable) => Promise<unknown> = nothing,
  ): Promise<void> {
    await withTenant(this.#pool, tenantId, async (db) => {
      const { rowCount } = await db.query(
        `update webhook.calls set status = 'failed', error = $2, request = null, claimed_until = null,
           finished_at = clock_timestamp()
         where id = $1 and finished_at is null`,
        [id, JSON.stringify(error)],
      );
      if (rowCount !== 1) return;
      await db.query('delete from webhook.call_keys where call_id = $1', [id]);
      await also(db);
    });
  }
}

async function knownCall(db: Queryable, { endpointId, keys }: NewCall): Promise<KnownCall | null> {
  const all = keys.map(({ kind, digest }) => `${kind} ${digest.toString('hex')}`).sort();
  // Repeats that arrive at once wait here, in the same order, until the first has stored its keys.
  for (const key of all)
    await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${endpointId} ${key}`]);
  const { rows } = await db.query<{ callId: string; by: CallKey['kind'] }>(
    // An id comes before a body.
    `select call_id as "callId", kind as by from webhook.call_keys
     where endpoint_id = $1 and expires_at > now()
       and (kind, digest) in (select k, d from unnest($2::text[], $3::bytea[]) as given (k, d))
     order by kind desc limit 1`,
    [endpointId, keys.map(({ kind }) => kind), keys.map(({ digest }) => digest)],
  );
  const [found] = rows;
  if (found === undefined) return null;
  const { by, callId } = found;
  return {
    by,
    call: only(await db.query<StoredCall>(`select ${columns} from webhook.calls where id = $1`, [callId])),
  };
}

async function insertCall(db: Queryable, call: NewCall, { claimId, seconds }: CallClaim): Promise<void> {
  await db.query(
    `insert into webhook.calls (id, tenant_id, endpoint_id, agent_id, delivery_id, body_sha256, mode, status, user_id,
       session_id, metadata, callback_url, request, claim_id, claimed_until, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, case $7 when 'sync' then 'running' else 'queued' end, $8, $9, $10, $11, $12,
       $13, now() + make_interval(secs => $14), now() + make_interval(days => $15))`,
    [
      call.id,
      call.tenantId,
      call.endpointId,
      call.agentId,
      call.deliveryId,
      call.bodySha256,
      call.mode,
      call.userId,
      call.sessionId,
      JSON.stringify(call.metadata),
      call.callbackUrl,
      call.request,
      claimId,
      seconds,
      keptDays,
    ],
  );
}

async function takeKey(db: Queryable, call: NewCall, { kind, digest, keptS }: CallKey): Promise<void> {
  await db.query(
    `insert into webhook.call_keys (endpoint_id, kind, digest, tenant_id, call_id, expires_at)
     values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
     on conflict (endpoint_id, kind, digest) do update
       set call_id = excluded.call_id, expires_at = excluded.expires_at`,
    [call.endpointId, kind, digest, call.tenantId, call.id, keptS],
  );
}
