import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { Attempt, Delivery, Verdict } from '../deliveries/delivery.ts';

/** A delivery as the log shows it. */
export interface LoggedDelivery {
  id: string;
  url: string;
  status: 'pending' | 'delivered' | 'failed';
  dueAt: Date | null;
  createdAt: Date;
  attempts: {
    number: number;
    at: string;
    duration_ms: number;
    status: number | null;
    error: string | null;
  }[];
}

export interface NewDelivery {
  id: string;
  tenantId: string;
  callId: string;
  endpointId: string;
  url: string;
  target: string;
}

/** What is sent, with the row of its call. */
export interface DueDelivery extends Delivery {
  callbackSecret: Buffer;
}

/** Deliveries of a tenant to one origin. */
export interface Target {
  tenantId: string;
  /** Of `targetOf`. */
  target: string;
}

/** Requests to one target at a time, of all replicas together. */
export const maxInFlight = 8;
/** Longer than an attempt takes. */
const claimS = 60;
const postponedS = 5;
/** After this time of failures only, the endpoint is disabled. */
const failingDays = 5;

export async function insertDelivery(db: Queryable, delivery: NewDelivery): Promise<void> {
  const { id, tenantId, callId, endpointId, url, target } = delivery;
  await db.query(
    `insert into webhook.deliveries (id, tenant_id, call_id, endpoint_id, url, target, status, due_at)
     values ($1, $2, $3, $4, $5, $6, 'pending', now())`,
    [id, tenantId, callId, endpointId, url, target],
  );
}

/** Deliveries of one tenant at a time. */
export class DeliveryStore {
  readonly #pool: Pool;

  /** `pool` acts as `webhook_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Claims the delivery of a target that has been due longest, unless `maxInFlight` of the target are in flight. */
  async claimDue(of: Target): Promise<DueDelivery | null> {
    return withTenant(this.#pool, of.tenantId, async (db) => {
      // Counting needs the lock: two claims at once would each see room for one more.
      await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
        `webhook.deliveries ${of.tenantId} ${of.target}`,
      ]);
      const { rows } = await db.query<DueDelivery>(
        `with due as materialized (
           select id from webhook.deliveries
           where tenant_id = $1 and target = $2 and status = 'pending' and due_at <= now()
             and (claimed_until is null or claimed_until <= now())
             and (select count(*) from webhook.deliveries
                  where tenant_id = $1 and target = $2 and status = 'pending' and claimed_until > now()) < $3
           order by due_at limit 1 for update)
         update webhook.deliveries d set claimed_until = now() + make_interval(secs => $4)
         from due, webhook.endpoints e
         where d.id = due.id and e.id = d.endpoint_id
         returning d.id, d.tenant_id as "tenantId", d.call_id as "callId", d.endpoint_id as "endpointId", d.url,
           d.attempts, e.callback_secret as "callbackSecret"`,
        [of.tenantId, of.target, maxInFlight, claimS],
      );
      return rows[0] ?? null;
    });
  }

  /** When a delivery of a target can be claimed next; null if none waits. */
  async nextDue({ tenantId, target }: Target): Promise<Date | null> {
    return withTenant(this.#pool, tenantId, async (db) => {
      const { rows } = await db.query<{ at: Date | null }>(
        `select case when count(*) filter (where claimed_until > now()) >= $3
           then min(claimed_until) filter (where claimed_until > now())
           else min(greatest(due_at, claimed_until)) end as at
         from webhook.deliveries where tenant_id = $1 and target = $2 and status = 'pending'`,
        [tenantId, target, maxInFlight],
      );
      return rows[0]?.at ?? null;
    });
  }

  /** Gives up a claim without an attempt: another one is made in some seconds. */
  async postpone({ tenantId, id, attempts }: Delivery): Promise<void> {
    await withTenant(this.#pool, tenantId, (db) =>
      db.query(
        `update webhook.deliveries set claimed_until = null, due_at = now() + make_interval(secs => $3)
         where id = $1 and attempts = $2 and status = 'pending'`,
        [id, attempts, postponedS],
      ),
    );
  }

  /** Records an attempt and what follows. Returns whether the endpoint was disabled by it. */
  async record(delivery: Delivery, attempt: Attempt, verdict: Verdict): Promise<boolean> {
    return withTenant(this.#pool, delivery.tenantId, async (db) => {
      const { rowCount } = await db.query(
        `update webhook.deliveries set attempts = attempts + 1, claimed_until = null,
           status = $3, due_at = case when $3 = 'pending' then now() + make_interval(secs => $4) end,
           finished_at = case when $3 <> 'pending' then now() end
         where id = $1 and attempts = $2 and status = 'pending'`,
        [
          delivery.id,
          delivery.attempts,
          verdict.kind === 'retry' ? 'pending' : verdict.kind,
          verdict.kind === 'retry' ? verdict.afterS : 0,
        ],
      );
      // Another replica has sent it meanwhile.
      if (rowCount === 0) return false;
      await db.query(
        `insert into webhook.delivery_attempts (delivery_id, number, tenant_id, at, duration_ms, status, error)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [
          delivery.id,
          delivery.attempts + 1,
          delivery.tenantId,
          attempt.at,
          attempt.durationMs,
          attempt.status,
          attempt.error,
        ],
      );
      return noteHealth(db, delivery, verdict);
    });
  }

  /** The deliveries of a call with their attempts, the newest first. */
  ofCall(tenantId: string, callId: string): Promise<LoggedDelivery[]> {
    return withTenant(this.#pool, tenantId, (db) => deliveriesOf(db, callId));
  }
}

export async function deliveriesOf(db: Queryable, callId: string): Promise<LoggedDelivery[]> {
  const { rows } = await db.query<LoggedDelivery>(
    `select d.id, d.url, d.status, d.due_at as "dueAt", d.created_at as "createdAt",
       coalesce((select json_agg(json_build_object('number', a.number, 'at', a.at, 'duration_ms', a.duration_ms,
         'status', a.status, 'error', a.error) order by a.number)
         from webhook.delivery_attempts a where a.delivery_id = d.id), '[]') as attempts
     from webhook.deliveries d where d.call_id = $1 order by d.id desc limit 50`,
    [callId],
  );
  return rows;
}

/** Only deliveries to the endpoint's own URL count: a sender may name another one. */
async function noteHealth(db: Queryable, { endpointId, url }: Delivery, verdict: Verdict): Promise<boolean> {
  if (verdict.kind === 'delivered') {
    await db.query(
      'update webhook.endpoints set failing_since = null where id = $1 and callback_url = $2 and failing_since is not null',
      [endpointId, url],
    );
    return false;
  }
  const gone = verdict.kind === 'failed' && verdict.gone;
  const { rows } = await db.query<{ disabled: boolean }>(
    `update webhook.endpoints set failing_since = coalesce(failing_since, now()),
       enabled = enabled and not ($3 or coalesce(failing_since, now()) < now() - make_interval(days => $4))
     where id = $1 and callback_url = $2 and enabled
     returning not enabled as disabled`,
    [endpointId, url, gone, failingDays],
  );
  return rows[0]?.disabled ?? false;
}
