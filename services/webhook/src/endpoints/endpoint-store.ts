import type { PageRequest, PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Changed, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import { assertUnlocked } from '@gatehouse/transfers/store/rows';
import { lockAndCount } from '../shared/count-store.ts';
import type { Rotation } from '../secrets/rotation.ts';
import { rotating } from '../secrets/rotation-store.ts';
import { settingNames, type Endpoint, type EndpointSettings, type SealedSecrets } from './endpoint.ts';

/** The column of each setting, by its name on the wire. */
const columns = `id, scheme, ${settingNames.join(', ')},
  case when previous_secret_expires_at > now() then previous_secret_expires_at end as "previousSecretExpiresAt",
  case when previous_callback_secret_expires_at > now() then previous_callback_secret_expires_at end
    as "previousCallbackSecretExpiresAt",
  created_at as "createdAt", updated_at as "updatedAt"`;

/** The parameter of the callback URL in an update. */
const callbackUrl = `$${settingNames.indexOf('callback_url') + 2}`;

const rotatingCallbackSecret = rotating(
  {
    secret: 'callback_secret',
    previous: 'previous_callback_secret',
    expires: 'previous_callback_secret_expires_at',
  },
  { sealed: `$${settingNames.length + 2}`, seconds: `$${settingNames.length + 3}` },
);

/** The webhook endpoints of one tenant at a time, without their secrets. */
export class EndpointStore extends Store {
  /** Newest first, below the id `before`. */
  list(tenantId: string, { limit, before }: PageRequest): Promise<PageRows<Endpoint>> {
    return readPage<Endpoint>(this.tenant(tenantId), {
      columns,
      from: 'webhook.endpoints where tenant_id = $1 and deleted_at is null and ($2::uuid is null or id < $2)',
      order: 'id desc',
      size: sizeOf('template', 'callback_url', 'allowed_cidrs::text'),
      limit,
      values: [tenantId, before],
    });
  }

  find(tenantId: string, id: string): Promise<Endpoint | null> {
    return withTenant(this.pool, tenantId, (db) => selectEndpoint(db, id, ''));
  }
}

/** The endpoint, locked until the transaction ends; null without one. Throws `resource_locked` while a transfer uses it. */
export async function lockEndpoint(db: Queryable, id: string): Promise<Endpoint | null> {
  const endpoint = await selectEndpoint(db, id, 'for update');
  if (endpoint !== null) await assertUnlocked(db, 'webhook.endpoints', id);
  return endpoint;
}

async function selectEndpoint(db: Queryable, id: string, lock: '' | 'for update'): Promise<Endpoint | null> {
  return db.first(`select ${columns} from webhook.endpoints where id = $1 and deleted_at is null ${lock}`, [
    id,
  ]);
}

/** The endpoints of a tenant so far. Others that add one wait until the transaction ends. */
export async function countEndpoints(db: Queryable, tenantId: string): Promise<number> {
  return lockAndCount(db, 'webhook.endpoints', tenantId);
}

export async function insertEndpoint(
  db: Queryable,
  endpoint: {
    id: string;
    tenantId: string;
    scheme: string;
    settings: EndpointSettings;
    secrets: SealedSecrets;
  },
): Promise<Endpoint> {
  const { id, tenantId, scheme, settings, secrets } = endpoint;
  return db.one(
    `insert into webhook.endpoints (id, tenant_id, scheme, secret, callback_secret, ${settingNames.join(', ')})
       values ($1, $2, $3, $4, $5, ${settingNames.map((_, index) => `$${index + 6}`).join(', ')})
       returning ${columns}`,
    [
      id,
      tenantId,
      scheme,
      secrets.secret,
      secrets.callbackSecret,
      ...settingNames.map((name) => settings[name]),
    ],
  );
}

export async function updateEndpoint(
  db: Queryable,
  { id }: Endpoint,
  settings: EndpointSettings,
  { sealed, overlapS }: Rotation,
): Promise<Endpoint> {
  // Not now(): the transaction may have begun before the change that it waited for.
  return db.one(
    `update webhook.endpoints set ${settingNames.map((name, index) => `${name} = $${index + 2}`).join(', ')},
         updated_at = clock_timestamp(),
         -- Enabled again, or with another URL, it has not failed yet.
         failing_since = case when enabled and callback_url is not distinct from ${callbackUrl} then failing_since end,
         ${rotatingCallbackSecret}
       where id = $1 returning ${columns}`,
    [id, ...settingNames.map((name) => settings[name]), sealed, overlapS],
  );
}

/** Replaces the secret; the old one is accepted for `overlapSeconds`. Null if the endpoint is missing. */
export async function replaceSecret(
  db: Queryable,
  { id, secret, overlapSeconds }: { id: string; secret: Buffer; overlapSeconds: number },
): Promise<Changed<Endpoint> | null> {
  const before = await lockEndpoint(db, id);
  if (before === null) return null;
  const after = await db.one<Endpoint>(
    `update webhook.endpoints set secret = $2, updated_at = clock_timestamp(),
        previous_secret = case when $3 > 0 then secret end,
        previous_secret_expires_at = case when $3 > 0 then clock_timestamp() + make_interval(secs => $3) end
      where id = $1 returning ${columns}`,
    [id, secret, overlapSeconds],
  );
  return { before, after };
}

/** Hides an endpoint with its calls, for a later removal, and sends no more of their results. */
export async function deleteEndpoint(db: Queryable, id: string): Promise<void> {
  await db.query('update webhook.endpoints set deleted_at = now() where id = $1', [id]);
  await db.query(
    `update webhook.deliveries set status = 'failed', due_at = null, claimed_until = null, finished_at = now()
     where endpoint_id = $1 and status = 'pending'`,
    [id],
  );
}
