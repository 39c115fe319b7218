import { readPage, sizeOf } from '@gatehouse/pg/page';
import type { PageRequest, PageRows } from '@gatehouse/kit/page';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { Subscription, SubscriptionSettings } from './subscription.ts';
import type { Rotation } from '../secrets/rotation.ts';
import { lockAndCount } from '../shared/count-store.ts';
import { rotating } from '../secrets/rotation-store.ts';

const columns = `id, url, event_types, enabled,
  case when last_delivery_at is not null then json_build_object('at', last_delivery_at, 'status', last_delivery_status)
    end as "lastDelivery",
  case when previous_secret_expires_at > now() then previous_secret_expires_at end as "previousSecretExpiresAt",
  created_at as "createdAt", updated_at as "updatedAt"`;

const rotatingSecret = rotating(
  { secret: 'secret', previous: 'previous_secret', expires: 'previous_secret_expires_at' },
  { sealed: '$5', seconds: '$6' },
);

/** The subscriptions of one tenant at a time, or of the owner, without their secrets. */
export class SubscriptionStore extends Store {
  /** Newest first, below the id `before`. */
  list(tenantId: string, { limit, before }: PageRequest): Promise<PageRows<Subscription>> {
    return readPage<Subscription>(this.tenant(tenantId), {
      columns,
      from: 'webhook.subscriptions where tenant_id = $1 and ($2::uuid is null or id < $2)',
      order: 'id desc',
      size: sizeOf('url', 'event_types::text'),
      limit,
      values: [tenantId, before],
    });
  }

  find(tenantId: string, id: string): Promise<Subscription | null> {
    return withTenant(this.pool, tenantId, (db) => selectSubscription(db, { tenantId, id }, ''));
  }
}

/** The tenant is named too, since transactions of the owner see it by no setting. */
interface SubscriptionKey {
  tenantId: string;
  id: string;
}

/** The subscription, locked until the transaction ends; null without one. */
export function lockSubscription(db: Queryable, place: SubscriptionKey): Promise<Subscription | null> {
  return selectSubscription(db, place, 'for update');
}

async function selectSubscription(
  db: Queryable,
  { tenantId, id }: SubscriptionKey,
  lock: '' | 'for update',
): Promise<Subscription | null> {
  return db.first(`select ${columns} from webhook.subscriptions where id = $1 and tenant_id = $2 ${lock}`, [
    id,
    tenantId,
  ]);
}

/** The subscriptions of a tenant so far. Others that add one wait until the transaction ends. */
export async function countSubscriptions(db: Queryable, tenantId: string): Promise<number> {
  return lockAndCount(db, 'webhook.subscriptions', tenantId);
}

export async function insertSubscription(
  db: Queryable,
  { tenantId, id, settings, secret }: SubscriptionKey & { settings: SubscriptionSettings; secret: Buffer },
): Promise<Subscription> {
  const { url, event_types: types, enabled } = settings;
  return db.one(
    `insert into webhook.subscriptions (id, tenant_id, url, event_types, enabled, secret)
      values ($1, $2, $3, $4, $5, $6) returning ${columns}`,
    [id, tenantId, url, types, enabled, secret],
  );
}

export function updateSubscription(
  db: Queryable,
  id: string,
  { url, event_types: types, enabled }: SubscriptionSettings,
  { sealed, overlapS }: Rotation,
): Promise<Subscription> {
  return db.one(
    `update webhook.subscriptions set url = $2, event_types = $3, enabled = $4, updated_at = clock_timestamp(),
        -- Enabled again, or with another URL, it has not failed yet.
        failing_since = case when enabled and url = $2 then failing_since end,
        ${rotatingSecret}
      where id = $1 returning ${columns}`,
    [id, url, types, enabled, sealed, overlapS],
  );
}

export async function deleteSubscription(db: Queryable, id: string): Promise<void> {
  await db.query('delete from webhook.subscriptions where id = $1', [id]);
}

/**
 * Enabled subscriptions of a tenant to a type of event, locked against changes and deletion until the transaction ends:
 * otherwise what is queued for one could go to an old URL, or fail for all.
 */
export async function findSubscribers(
  db: Queryable,
  tenantId: string,
  type: string,
): Promise<{ id: string; url: string }[]> {
  return db.all(
    `select id, url from webhook.subscriptions where tenant_id = $1 and enabled and $2 = any (event_types)
     order by id for share`,
    [tenantId, type],
  );
}
