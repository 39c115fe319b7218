import { monotonicMs } from '@gatehouse/kit/clock';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import {
  type Attempt,
  type DeliverySource,
  type DueDelivery,
  type LoggedDelivery,
  type OriginTarget,
  type Verdict,
} from './delivery.ts';
import { attemptMs, failingDays, leaseS, maxInFlight, pauseS } from '../bounds.ts';

export type DeliveryOrigin =
  // The result of a call.
  { callId: string; endpointId: string } | { eventId: string; subscriptionId: string };

export type NewDelivery = DeliveryOrigin & { id: string; tenantId: string; url: string; target: string };

interface DueRow extends Omit<DueDelivery, 'source' | 'sendBeforeMs'> {
  callId: string | null;
  endpointId: string | null;
  eventId: string | null;
  subscriptionId: string | null;
  body: string | null;
}

export async function insertDelivery(db: Queryable, delivery: NewDelivery): Promise<void> {
  const { id, tenantId, url, target } = delivery;
  const source =
    'callId' in delivery
      ? [delivery.callId, delivery.endpointId, null, null]
      : [null, null, delivery.eventId, delivery.subscriptionId];
  await db.query(
    `insert into webhook.deliveries (id, tenant_id, url, target, call_id, endpoint_id, event_id, subscription_id,
       status, due_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', now())`,
    [id, tenantId, url, target, ...source],
  );
}

/** Sends what is pending of a subscription to another URL. Returns when the first is due; null if nothing is. */
export async function redirectPending(
  db: Queryable,
  { subscriptionId, url, target }: { subscriptionId: string; url: string; target: string },
): Promise<Date | null> {
  return (
    (
      await db.first<{ at: Date | null }>(
        `with moved as (
       update webhook.deliveries set url = $2, target = $3 where subscription_id = $1 and status = 'pending'
       returning due_at)
     select min(due_at) as at from moved`,
        [subscriptionId, url, target],
      )
    )?.at ?? null
  );
}

/** Whether so many deliveries of a subscription are pending. */
export function hasPending(db: Queryable, subscriptionId: string, count: number): Promise<boolean> {
  return db.exists(
    `select 1 from webhook.deliveries where subscription_id = $1 and status = 'pending' offset $2 limit 1`,
    [subscriptionId, count - 1],
  );
}

/** Ends what is pending of a subscription. */
export async function giveUpPending(db: Queryable, subscriptionId: string): Promise<void> {
  await db.query(
    `update webhook.deliveries set status = 'failed', due_at = null, claimed_until = null, finished_at = now()
     where subscription_id = $1 and status = 'pending'`,
    [subscriptionId],
  );
}

/** Deliveries of one tenant at a time. */
export class DeliveryStore extends Store {
  /** Claims the longest due delivery of a target, unless `maxInFlight` of the target are in flight. */
  claimDue(target: OriginTarget): Promise<DueDelivery | null> {
    const sendBeforeMs = monotonicMs() + leaseS * 1_000 - attemptMs;
    return withTenant(this.pool, target.tenantId, async (db) => {
      // Counting needs the lock: two claims at once would each see room for one more.
      await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
        `webhook.deliveries ${target.tenantId} ${target.target}`,
      ]);
      const { rows } = await db.query<DueRow>(
        `with due as materialized (
           select d.id, coalesce(e.callback_secret, s.secret) as secret,
             case when e.previous_callback_secret_expires_at > now() then e.previous_callback_secret
               when s.previous_secret_expires_at > now() then s.previous_secret end as previous, v.body
           from webhook.deliveries as d
             left join webhook.endpoints as e on e.id = d.endpoint_id
             left join webhook.subscriptions as s on s.id = d.subscription_id
             left join webhook.events as v on v.id = d.event_id
           where d.tenant_id = $1 and d.target = $2 and d.status = 'pending' and d.due_at <= now()
             and e.closed is not true and (d.claimed_until is null or d.claimed_until <= now())
             and (select count(*) from webhook.deliveries
                  where tenant_id = $1 and target = $2 and status = 'pending' and claimed_until > now()) < $3
           order by d.due_at limit 1 for update of d)
         update webhook.deliveries as d set claimed_until = now() + make_interval(secs => $4)
         from due where d.id = due.id
         returning d.id, d.tenant_id as "tenantId", d.url, d.attempts, d.call_id as "callId",
           d.endpoint_id as "endpointId", d.event_id as "eventId", d.subscription_id as "subscriptionId",
           due.secret, due.previous as "previousSecret", due.body, d.claimed_until::text as claim`,
        [target.tenantId, target.target, maxInFlight, leaseS],
      );
      return rows[0] === undefined ? null : { ...dueDelivery(rows[0]), sendBeforeMs };
    });
  }

  /**
   * When a delivery of a target can be claimed next; null without a waiting one, but for those of a closed endpoint.
   */
  nextDue({ tenantId, target }: OriginTarget): Promise<Date | null> {
    return withTenant(this.pool, tenantId, async (db) => {
      return (
        (
          await db.first<{ at: Date | null }>(
            `select case when count(*) filter (where claimed_until > now()) >= $3
           then min(claimed_until) filter (where claimed_until > now())
           else min(greatest(due_at, claimed_until)) end as at
         from webhook.deliveries where tenant_id = $1 and target = $2 and status = 'pending' and not exists (
           select from webhook.endpoints as e where e.id = endpoint_id and e.closed)`,
            [tenantId, target, maxInFlight],
          )
        )?.at ?? null
      );
    });
  }

  /** Gives up a claim without an attempt, unless another process has one by now: an attempt is made in some seconds. */
  async postpone({ tenantId, id, claim }: DueDelivery): Promise<void> {
    await this.tenant(tenantId).query(
      `update webhook.deliveries set claimed_until = null, due_at = now() + make_interval(secs => $3)
        where id = $1 and claimed_until = $2::timestamptz and status = 'pending'`,
      [id, claim, pauseS],
    );
  }

  /**
   * Records an attempt and its consequences. A failure counts for nothing if another process has the claim by now: that
   * one may succeed. `onDisabled` runs in the transaction that has disabled the source.
   */
  async record(
    delivery: DueDelivery,
    { attempt, verdict }: { attempt: Attempt; verdict: Verdict },
    onDisabled: (db: Queryable) => Promise<void>,
  ): Promise<void> {
    await withTenant(this.pool, delivery.tenantId, async (db) => {
      // Before the delivery, as changes of the source do: otherwise two transactions could wait for each other.
      await lockSource(db, delivery.source);
      const { rowCount } = await db.query(
        `update webhook.deliveries set attempts = attempts + 1, claimed_until = null,
           status = $3, due_at = case when $3 = 'pending' then now() + make_interval(secs => $4) end,
           finished_at = case when $3 <> 'pending' then now() end
         where id = $1 and attempts = $2 and status = 'pending'
           and ($3 = 'delivered' or claimed_until = $5::timestamptz)`,
        [
          delivery.id,
          delivery.attempts,
          verdict.kind === 'retry' ? 'pending' : verdict.kind,
          verdict.kind === 'retry' ? verdict.afterS : 0,
          delivery.claim,
        ],
      );
      // Another replica has sent it meanwhile.
      if (rowCount === 0) return;
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
      const { source } = delivery;
      const disabled =
        source.kind === 'result'
          ? await noteEndpoint(db, { id: source.endpointId, url: delivery.url }, verdict)
          : await noteSubscription(db, { id: source.subscriptionId, url: delivery.url }, verdict);
      if (disabled) await onDisabled(db);
    });
  }

  /** The deliveries of a call with their attempts, the newest first. */
  listByCall(tenantId: string, callId: string): Promise<LoggedDelivery[]> {
    return withTenant(this.pool, tenantId, (db) => deliveriesOf(db, callId));
  }
}

async function lockSource(db: Queryable, source: DeliverySource): Promise<void> {
  if (source.kind === 'result')
    await db.query('select from webhook.endpoints where id = $1 for no key update', [source.endpointId]);
  else
    await db.query('select from webhook.subscriptions where id = $1 for no key update', [
      source.subscriptionId,
    ]);
}

const logged = `d.id, d.url, d.status, d.due_at as "dueAt", d.created_at as "createdAt",
  coalesce((select json_agg(json_build_object('number', a.number, 'at', a.at, 'duration_ms', a.duration_ms,
    'status', a.status, 'error', a.error) order by a.number)
    from webhook.delivery_attempts a where a.delivery_id = d.id), '[]') as attempts`;

async function deliveriesOf(db: Queryable, callId: string): Promise<LoggedDelivery[]> {
  return db.all(
    `select ${logged} from webhook.deliveries d where d.call_id = $1 order by d.id desc limit 50`,
    [callId],
  );
}

export function deliveryById(db: Queryable, id: string): Promise<LoggedDelivery> {
  return db.one(`select ${logged} from webhook.deliveries d where d.id = $1`, [id]);
}

function dueDelivery({
  callId,
  endpointId,
  eventId,
  subscriptionId,
  body,
  ...row
}: DueRow): Omit<DueDelivery, 'sendBeforeMs'> {
  if (callId !== null && endpointId !== null)
    return { ...row, source: { kind: 'result', callId, endpointId } };
  if (eventId !== null && subscriptionId !== null && body !== null)
    return { ...row, source: { kind: 'event', eventId, subscriptionId, body } };
  throw new Error(`the delivery ${row.id} has no source`);
}

/**
 * Only deliveries to the endpoint's own URL count: a sender may name another one. The end of a loop counts neither as
 * success nor as failure. Returns whether the endpoint was disabled.
 */
async function noteEndpoint(
  db: Queryable,
  { id, url }: { id: string; url: string },
  verdict: Verdict,
): Promise<boolean> {
  if (verdict.kind === 'delivered') {
    await db.query(
      'update webhook.endpoints set failing_since = null where id = $1 and callback_url = $2 and failing_since is not null',
      [id, url],
    );
    return false;
  }
  if (verdict.kind === 'failed' && verdict.because === 'hops') return false;
  return (
    (
      await db.first<{ disabled: boolean }>(
        `update webhook.endpoints set failing_since = coalesce(failing_since, now()), enabled = ${stillEnabled}
     where id = $1 and callback_url = $4 and enabled
     returning not enabled as disabled`,
        [id, meaningOf(verdict), failingDays, url],
      )
    )?.disabled ?? false
  );
}

/** Returns whether it was disabled; what is pending is given up then. Failures of an earlier URL don't count. */
async function noteSubscription(
  db: Queryable,
  { id, url }: { id: string; url: string },
  verdict: Verdict,
): Promise<boolean> {
  const status = verdict.kind === 'retry' ? 'pending' : verdict.kind;
  const { rows } = await db.query<{ disabled: boolean }>(
    `with before as (select enabled as was_enabled from webhook.subscriptions where id = $1 for update)
     update webhook.subscriptions set last_delivery_at = now(), last_delivery_status = $4,
       failing_since = case when $4 = 'delivered' then null else coalesce(failing_since, now()) end,
       enabled = case when $4 = 'delivered' then enabled else ${stillEnabled} end
     from before where id = $1 and url = $5
     returning was_enabled and not enabled as disabled`,
    [id, meaningOf(verdict), failingDays, status, url],
  );
  const disabled = rows[0]?.disabled ?? false;
  if (disabled) await giveUpPending(db, id);
  return disabled;
}

/**
 * Whether a source stays enabled after a failure. Parameters: what the failure means for it, days. It is disabled when
 * a delivery is given up after days of failures, and not by one failure long after another.
 */
const stillEnabled =
  "enabled and not ($2 = 'gone' or $2 = 'given up' and coalesce(failing_since, now()) < now() - make_interval(days => $3))";

function meaningOf(verdict: Verdict): 'gone' | 'given up' | 'may pass' {
  if (verdict.kind !== 'failed') return 'may pass';
  return verdict.because === 'gone' ? 'gone' : 'given up';
}
