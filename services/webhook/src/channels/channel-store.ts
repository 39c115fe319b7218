import type { ChannelType } from '@gatehouse/contract/channel-instances';
import type { PageRows } from '@gatehouse/kit/page';
import { readPage, sizeOf } from '@gatehouse/pg/page';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import {
  settingNames,
  type Channel,
  type ChannelSettings,
  type ChannelState,
  type ConnectedChannel,
  type SealedChannel,
} from './channel.ts';
import type { Rotation } from '../secrets/rotation.ts';
import { assertUnlocked } from '@gatehouse/transfers/store/rows';
import { lockAndCount } from '../shared/count-store.ts';
import { rotating } from '../secrets/rotation-store.ts';

/** The column of each setting, by its name on the wire. */
const columns = `id, tenant_id as "tenantId", type, ${settingNames.join(', ')}, closed, status, status_reason,
  case when previous_credentials_accepted_until > now() then previous_credentials_accepted_until end
    as "previousSecretExpiresAt",
  created_at as "createdAt", updated_at as "updatedAt"`;

const isJson = new Set<string>(['replies', 'config']);
const valuesOf = (settings: ChannelSettings): unknown[] =>
  settingNames.map((name) => (isJson.has(name) ? JSON.stringify(settings[name]) : settings[name]));

/** The channels of one tenant at a time. */
export class ChannelStore extends Store {
  /** Newest first, below the id `before`. */
  list(
    tenantId: string,
    { limit, before, type }: { limit: number; before: string | null; type: ChannelType | null },
  ): Promise<PageRows<Channel>> {
    return readPage<Channel>(this.tenant(tenantId), {
      columns,
      from: `webhook.channel_instances where tenant_id = $1 and deleted_at is null
          and ($2::uuid is null or id < $2) and ($3::text is null or type = $3)`,
      order: 'id desc',
      size: sizeOf('replies::text', 'config::text'),
      limit,
      values: [tenantId, before, type],
    });
  }

  find(tenantId: string, id: string): Promise<Channel | null> {
    return this.tenant(tenantId).first(
      `select ${columns} from webhook.channel_instances where id = $1 and deleted_at is null`,
      [id],
    );
  }

  /** The first channel of a type with all members of a config. */
  findByConfig(tenantId: string, type: ChannelType, config: object): Promise<Channel | null> {
    return this.tenant(tenantId).first(
      `select ${columns} from webhook.channel_instances
        where tenant_id = $1 and deleted_at is null and type = $2 and config::jsonb @> $3::jsonb
        order by id limit 1`,
      [tenantId, type, JSON.stringify(config)],
    );
  }

  /** With its secrets. */
  open(tenantId: string, id: string): Promise<ConnectedChannel | null> {
    return this.tenant(tenantId).first(
      `select ${columns}, credentials, access_token as "accessToken",
          case when previous_credentials_expire_at > now() then previous_credentials end as "previousCredentials"
        from webhook.channel_instances where id = $1 and deleted_at is null`,
      [id],
    );
  }

  /**
   * Notes the state of the connection by `channel`'s credentials and token, and does `also` in the same transaction if
   * the state is new. States of credentials or tokens replaced meanwhile are ignored.
   */
  async setState(
    { tenantId, id, credentials, accessToken }: ConnectedChannel,
    { status, status_reason: reason }: ChannelState,
    also: (db: Queryable) => Promise<unknown>,
  ): Promise<void> {
    await withTenant(this.pool, tenantId, async (db) => {
      const { rowCount } = await db.query(
        `update webhook.channel_instances set status = $2, status_reason = $3
         where id = $1 and (status, status_reason) is distinct from ($2, $3)
           and credentials = $4 and ($2 <> 'needs_reauth' or access_token is not distinct from $5)`,
        [id, status, reason, credentials, accessToken],
      );
      if (rowCount === 1) await also(db);
    });
  }
}

/** The channel with its credentials, locked until the transaction ends; null without one. */
export async function lockChannel(db: Queryable, id: string): Promise<SealedChannel | null> {
  const { rows } = await db.query<SealedChannel>(
    `select ${columns}, credentials from webhook.channel_instances
     where id = $1 and deleted_at is null for update`,
    [id],
  );
  const [channel] = rows;
  if (channel === undefined) return null;
  await assertUnlocked(db, 'webhook.channel_instances', id);
  return channel;
}

/** The channels of a tenant so far. Others that add one wait until the transaction ends. */
export async function countChannels(db: Queryable, tenantId: string): Promise<number> {
  return lockAndCount(db, 'webhook.channel_instances', tenantId);
}

export async function insertChannel(
  db: Queryable,
  channel: {
    id: string;
    tenantId: string;
    type: ChannelType;
    settings: ChannelSettings;
    credentials: Buffer;
    status: ChannelState['status'];
  },
): Promise<Channel> {
  const { id, tenantId, type, settings, credentials, status } = channel;
  return db.one(
    `insert into webhook.channel_instances (id, tenant_id, type, credentials, status, ${settingNames.join(', ')})
       values ($1, $2, $3, $4, $5, ${settingNames.map((_, index) => `$${index + 6}`).join(', ')})
       returning ${columns}`,
    [id, tenantId, type, credentials, status, ...valuesOf(settings)],
  );
}

const rotatingCredentials = rotating(
  {
    secret: 'credentials',
    previous: 'previous_credentials',
    expires: 'previous_credentials_expire_at',
  },
  { sealed: '$2', seconds: '$3' },
);

/**
 * `state`: null leaves what is known of the connection; `pending` removes the tokens. `acceptedS`: how long the
 * credentials before prove messages too; without new ones, as for a rotation.
 */
export async function updateChannel(
  db: Queryable,
  id: string,
  {
    settings,
    rotation,
    acceptedS,
    state,
  }: {
    settings: ChannelSettings;
    rotation: Rotation;
    acceptedS: number | null;
    state: ChannelState['status'] | null;
  },
): Promise<Channel> {
  // Not now(): the transaction may have begun before the change that it waited for.
  return db.one(
    `update webhook.channel_instances
       set ${settingNames.map((name, index) => `${name} = $${index + 6}`).join(', ')}, ${rotatingCredentials},
         previous_credentials_accepted_until = case when $4::float8 = 0 then null
           when $2::bytea is not null then statement_timestamp() + make_interval(secs => $4)
           when previous_credentials_accepted_until is not null
             then least(previous_credentials_accepted_until, statement_timestamp() + make_interval(secs => $4)) end,
         updated_at = clock_timestamp(), status = coalesce($5, status),
         status_reason = case when $5::text is null then status_reason end,
         paused_until = null,
         access_token = case when $5 = 'pending' then null else access_token end,
         refresh_token = case when $5 = 'pending' then null else refresh_token end,
         refresh_due_at = case when $5 = 'pending' then null else refresh_due_at end,
         -- A refresh under way is of no use any more.
         refresh_claim = case when $5 = 'pending' then null else refresh_claim end
       where id = $1 returning ${columns}`,
    [id, rotation.sealed, rotation.overlapS, acceptedS, state, ...valuesOf(settings)],
  );
}

/** Hides a channel with its conversations, which are removed later. */
export async function deleteChannel(db: Queryable, id: string): Promise<void> {
  await db.query('update webhook.channel_instances set deleted_at = now() where id = $1', [id]);
}
