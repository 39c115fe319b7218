import { AppError } from '@gatehouse/kit/errors';
import type { PageRequest, PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { CallError, NewCall, StoredCall, StoredChannelDelivery } from './call.ts';
import type { Ref } from '../shared/ref.ts';
import { keptDays } from '../bounds.ts';

const callColumns = `id, tenant_id as "tenantId", endpoint_id as "endpointId", agent_id as "agentId",
  delivery_id as "deliveryId", body_sha256 as "bodySha256", mode, status, user_id as "userId",
  session_id as "sessionId", metadata, callback_url as "callbackUrl", hops, deliver_to as "deliverTo", error, created_at as "createdAt",
  finished_at as "finishedAt"`;
const columns = `${callColumns}, request, result`;

/** Rolls back what was begun. */
class NotInserted extends Error {
  readonly because: 'taken' | 'closed';

  constructor(because: 'taken' | 'closed') {
    super(because);
    this.because = because;
  }
}

const nothing = (): Promise<void> => Promise.resolve();

/** A claim on a call: its holder works on it. */
export interface CallClaim {
  claimId: string;
  seconds: number;
}

/** Calls of one tenant at a time. */
export class CallStore extends Store {
  /** Newest first, below the id `before`. */
  list(
    { tenantId, endpointId }: { tenantId: string; endpointId: string },
    { limit, before }: PageRequest,
  ): Promise<PageRows<StoredCall>> {
    return readPage<StoredCall>(this.tenant(tenantId), {
      columns: `${callColumns}, null as request, null as result`,
      from: 'webhook.calls where endpoint_id = $1 and ($2::uuid is null or id < $2)',
      order: 'id desc',
      size: sizeOf('metadata::text', 'callback_url', 'user_id', 'session_id', 'error::text'),
      limit,
      values: [endpointId, before],
    });
  }

  find(tenantId: string, id: string): Promise<StoredCall | null> {
    return this.tenant(tenantId).first(
      `select ${columns} from webhook.calls as c where id = $1
        and exists (select from webhook.endpoints as e where e.id = c.endpoint_id and e.deleted_at is null)`,
      [id],
    );
  }

  /** The state of the answer in its conversation; null without `deliver_to`. */
  channelDelivery(tenantId: string, id: string): Promise<StoredChannelDelivery | null> {
    return this.tenant(tenantId).first(
      `select deliver_to as "deliverTo", case
          when channel_delivery not in ('pending', 'queued') then channel_delivery
          when status = 'failed' then 'call_failed'
          when channel_delivery = 'pending' then 'pending'
          -- Its messages went with it, or wait for their removal.
          when not exists (select from webhook.channel_instances as i
            where i.id = (c.deliver_to->>'channel_instance_id')::uuid and i.deleted_at is null) then 'no_channel'
          when exists (select from webhook.channel_messages as m where m.turn_id = c.id and m.status = 'queued')
            then 'pending'
          -- A replica of an earlier release has sent them.
          when exists (select from webhook.channel_messages as m where m.turn_id = c.id)
            and not exists (select from webhook.channel_messages as m where m.turn_id = c.id and m.status <> 'sent')
            then 'delivered'
          else 'rejected' end as state
        from webhook.calls as c where id = $1 and deliver_to is not null`,
      [id],
    );
  }

  /**
   * Counts a request of an endpoint in the current minute. Returns the number of them, and when the minute ends.
   */
  countRequest(endpoint: {
    tenantId: string;
    endpointId: string;
  }): Promise<{ count: number; endsInMs: number }> {
    return this.tenant(endpoint.tenantId).one(
      `insert into webhook.delivery_rates as known (endpoint_id, minute, deliveries)
        values ($1, date_trunc('minute', now()), 1)
        on conflict (endpoint_id) do update set minute = greatest(known.minute, excluded.minute),
          deliveries = case when known.minute >= excluded.minute then known.deliveries + 1 else 1 end
        returning deliveries as count,
          extract(epoch from minute + interval '1 minute' - now())::float8 * 1000 as "endsInMs"`,
      [endpoint.endpointId],
    );
  }

  /**
   * Stores a call, claimed if it is `sync`, and does `also` in the same transaction. Returns the earlier call instead
   * if one of its keys is taken; a simultaneous repeat waits for the first. `closed`: the endpoint has moved to another
   * tenant, or takes only `async` calls because it is about to.
   */
  async add(
    call: NewCall,
    claim: CallClaim,
    also: (db: Queryable) => Promise<unknown>,
  ): Promise<StoredCall | 'closed' | null> {
    // A taken key may be freed between the failed insertion and the look at its call.
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      try {
        await withTenant(this.pool, call.tenantId, async (db) => {
          const inserted = await insertCall(db, call, claim);
          if (inserted !== 'done') throw new NotInserted(inserted);
          await also(db);
        });
        return null;
      } catch (error) {
        if (!(error instanceof NotInserted)) throw error;
        if (error.because === 'closed') return 'closed';
        const known = await this.findKnown(call.tenantId, call);
        if (known !== null) return known;
      }
    }
    throw new AppError('service_unavailable', 'The delivery could not be stored. Send it again.');
  }

  /** Whether so many `async` calls of the tenant have not finished. */
  hasQueued(tenantId: string, count: number): Promise<boolean> {
    return this.tenant(tenantId).exists(
      `select 1 from webhook.calls where tenant_id = $1 and status = 'queued' offset $2 limit 1`,
      [tenantId, count - 1],
    );
  }

  /** The earlier call with one of the keys. */
  findKnown(tenantId: string, keyed: Keyed): Promise<StoredCall | null> {
    return withTenant(this.pool, tenantId, (db) => knownCall(db, keyed));
  }

  /** Deletes up to `limit` calls for a user, from before a time. Returns how many. */
  forget(
    { tenantId, userId, before }: { tenantId: string; userId: string; before: Date },
    limit: number,
  ): Promise<number> {
    return this.tenant(tenantId).count(
      `delete from webhook.calls where id = any (array(
        select id from webhook.calls where tenant_id = $1 and user_id = $2 and created_at <= $3 limit $4))`,
      [tenantId, userId, before, limit],
    );
  }

  /** Throws `resource_locked` while the endpoint is about to move to another tenant. */
  async assertOpen({ tenantId, endpointId }: StoredCall): Promise<void> {
    await withTenant(this.pool, tenantId, async (db) => {
      const { rows } = await db.query('select from webhook.endpoints where id = $1 and closed', [endpointId]);
      if (rows.length > 0)
        throw new AppError('resource_locked', 'The endpoint is about to move to another tenant.');
    });
  }

  /** Takes over an abandoned call. Returns its request; null if it is not free. */
  claim({ tenantId, id }: Ref, { claimId, seconds }: CallClaim): Promise<Buffer | null> {
    return withTenant(this.pool, tenantId, async (db) => {
      return (
        (
          await db.first<{ request: Buffer | null }>(
            `with open as (
           select e.id from webhook.endpoints as e join webhook.calls as c on c.endpoint_id = e.id
           where c.id = $1 and not e.closed for share of e)
         update webhook.calls as c set claim_id = $2, claimed_until = now() + make_interval(secs => $3) from open
         where c.id = $1 and c.endpoint_id = open.id and c.status = 'running' and c.claimed_until <= now()
         returning c.request`,
            [id, claimId, seconds],
          )
        )?.request ?? null
      );
    });
  }

  /** The end of a call, if it has one. */
  progressOf({
    tenantId,
    id,
  }: Ref): Promise<Pick<StoredCall, 'id' | 'tenantId' | 'result' | 'error'> | null> {
    return this.tenant(tenantId).first(
      `select id, tenant_id as "tenantId", result, error from webhook.calls where id = $1`,
      [id],
    );
  }

  /** Gives up a claim without a result: a repeat takes the call over. */
  async release({ tenantId }: { tenantId: string }, claimId: string): Promise<void> {
    await this.tenant(tenantId).query(
      `update webhook.calls set claimed_until = now() where claim_id = $1 and status = 'running'`,
      [claimId],
    );
  }

  /** The first end counts, and `also` is done in its transaction. */
  async succeed(
    { tenantId, id }: Ref,
    result: Buffer,
    also: (db: Queryable) => Promise<unknown> = nothing,
  ): Promise<void> {
    await withTenant(this.pool, tenantId, async (db) => {
      const { rowCount } = await db.query(
        `update webhook.calls set status = 'succeeded', result = $2, request = null, claimed_until = null,
           finished_at = clock_timestamp()
         where id = $1 and finished_at is null`,
        [id, result],
      );
      if (rowCount === 1) await also(db);
    });
  }

  /** As {@link succeed}. A repeat of the request then is a new call. */
  async fail(
    { tenantId, id }: Ref,
    error: CallError,
    also: (db: Queryable) => Promise<unknown> = nothing,
  ): Promise<void> {
    await withTenant(this.pool, tenantId, async (db) => {
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

/** Locks a call against other redeliveries, and counts the deliveries of its result. */
export async function countDeliveries(db: Queryable, callId: string): Promise<number> {
  await db.query('select from webhook.calls where id = $1 for no key update', [callId]);
  return (
    await db.one<{ count: number }>(
      'select count(*)::integer as count from webhook.deliveries where call_id = $1',
      [callId],
    )
  ).count;
}

/** The keys by which repeats of a request are recognised. */
type Keyed = Pick<NewCall, 'endpointId' | 'keys'>;

async function knownCall(db: Queryable, { endpointId, keys }: Keyed): Promise<StoredCall | null> {
  return db.first(
    // An id comes before a body. Large columns are read once the answer is awaited: senders may repeat a request often.
    `select ${callColumns}, null as request, null as result from webhook.calls where id = (
      select known.call_id from unnest($2::text[], $3::bytea[]) as given (kind, digest)
      cross join lateral (
        select call_id from webhook.call_keys
        where endpoint_id = $1 and kind = given.kind and digest = given.digest and expires_at > now() limit 1
      ) as known
      order by given.kind desc limit 1)`,
    [endpointId, keys.map(({ kind }) => kind), keys.map(({ digest }) => digest)],
  );
}

/**
 * Stores a call with its keys, unless the endpoint does not take it. If one of the keys is taken, the transaction must be
 * rolled back.
 */
async function insertCall(
  db: Queryable,
  call: NewCall,
  { claimId, seconds }: CallClaim,
): Promise<'done' | 'taken' | 'closed'> {
  const inserted = await db.one<{ calls: number; keys: number }>({
    name: 'insert_call',
    text: `
      with endpoint as (
        select id from webhook.endpoints where id = $3 and ($7 = 'async' or not closed) for share),
      made as (
        insert into webhook.calls (id, tenant_id, endpoint_id, agent_id, delivery_id, body_sha256, mode, status, user_id,
          session_id, metadata, callback_url, request, claim_id, claimed_until, expires_at, hops, deliver_to,
          channel_delivery)
        select $1, $2, endpoint.id, $4, $5, $6, $7, case $7 when 'sync' then 'running' else 'queued' end, $8, $9, $10,
          $11, $12, $13, now() + make_interval(secs => $14), now() + make_interval(days => $15), $19, $20::json,
          case when $20::json is not null then 'pending' end
        from endpoint returning id),
      keyed as (
        insert into webhook.call_keys as known (endpoint_id, kind, digest, call_id, expires_at)
        select $3, kind, digest, made.id, now() + make_interval(secs => kept)
        -- In the same order in every transaction, so that no two wait for each other.
        from made, unnest($16::text[], $17::bytea[], $18::float8[]) as k (kind, digest, kept) order by kind, digest
        on conflict (endpoint_id, kind, digest) do update
          set call_id = excluded.call_id, expires_at = excluded.expires_at where known.expires_at <= now()
        returning 1)
      select (select count(*) from made)::integer as calls, (select count(*) from keyed)::integer as keys`,
    values: [
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
      call.keys.map(({ kind }) => kind),
      call.keys.map(({ digest }) => digest),
      call.keys.map((key) => key.retentionS),
      call.hops,
      call.deliverTo,
    ],
  });
  const { calls, keys } = inserted;
  if (calls === 0) return 'closed';
  return keys === call.keys.length ? 'done' : 'taken';
}
