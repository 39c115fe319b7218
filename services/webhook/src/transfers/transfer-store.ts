import type { ChannelType } from '@gatehouse/contract/channel-instances';
import { Store } from '@gatehouse/pg/store';
import { revisionHash } from '@gatehouse/transfers/store/rows';
import { maxUses } from '../bounds.ts';

/** Reads of transfers between tenants, one tenant at a time. */

/** A resource as a transfer shows it. */
export interface Transferable {
  type: 'webhook_endpoint' | 'channel_instance';
  id: string;
  name: string;
  revision: string;
  agentId: string;
  /** Numbers of the calls of an endpoint, or of the conversations and messages of a channel. */
  counts: Record<string, number>;
}

interface Ids {
  endpoints: readonly string[];
  channels: readonly string[];
}

/** The columns of a row that a transfer would bring to its target. */
export const revisionOf = {
  'webhook.endpoints': revisionHash(
    `row(name, agent_id, scheme, template, mode, callback_url, rate_limit_per_minute, allowed_cidrs, enabled, deleted_at,
      header, encoding, prefix, deliver_to)`,
  ),
  'webhook.channel_instances': revisionHash(
    'row(type, name, agent_id, enabled, history_tokens, replies, config, deleted_at)',
  ),
} as const;

/** A channel, and another one with messages possibly arriving at its URL. */
export interface SharedApp {
  id: string;
  name: string;
  otherId: string;
}

export class WebhookTransferStore extends Store {
  /** These endpoints and channels, as far as the tenant has them. */
  find(tenantId: string, { endpoints, channels }: Ids): Promise<Transferable[]> {
    return this.tenant(tenantId).all(
      `select 'webhook_endpoint' as type, id, name, agent_id as "agentId",
          ${revisionOf['webhook.endpoints']}
            as revision,
          json_build_object('calls',
            (select count(*) from webhook.calls as c where c.endpoint_id = e.id)) as counts
        from webhook.endpoints as e where tenant_id = $1 and deleted_at is null and id = any ($2)
        union all
        select 'channel_instance', id, name, agent_id,
          ${revisionOf['webhook.channel_instances']},
          json_build_object(
            'conversations', (select count(*) from webhook.conversations as c where c.instance_id = i.id and c.moved_to is null),
            'messages', (select count(*) from webhook.channel_messages as m where m.instance_id = i.id))
        from webhook.channel_instances as i where tenant_id = $1 and deleted_at is null and id = any ($3)`,
      [tenantId, endpoints, channels],
    );
  }

  /** The other endpoints and channels with these agents. */
  findUses(
    tenantId: string,
    agents: readonly string[],
  ): Promise<Omit<Transferable, 'counts' | 'revision'>[]> {
    return this.tenant(tenantId).all(
      `select 'webhook_endpoint' as type, id, name, agent_id as "agentId" from webhook.endpoints
        where tenant_id = $1 and deleted_at is null and agent_id = any ($2)
        union all
        select 'channel_instance', id, name, agent_id from webhook.channel_instances
        where tenant_id = $1 and deleted_at is null and agent_id = any ($2)
        order by 1, 2 limit $3`,
      [tenantId, agents, maxUses],
    );
  }

  /**
   * Pairs of these channels and others of the same app with each other's messages: an app of these types has one URL,
   * and its messages name their account.
   */
  findShared(
    tenantId: string,
    channels: readonly string[],
    types: readonly ChannelType[],
  ): Promise<SharedApp[]> {
    return this.tenant(tenantId).all(
      `select i.id, i.name, o.id as "otherId" from webhook.channel_instances as i
          join webhook.channel_instances as o on o.type = i.type and o.id <> i.id and o.tenant_id = i.tenant_id
            and o.config->>'app_id' = i.config->>'app_id' and o.deleted_at is null
        where i.tenant_id = $1 and i.id = any ($2) and i.type = any ($4) and i.deleted_at is null
        order by 1, 3 limit $3`,
      [tenantId, channels, maxUses, types],
    );
  }

  count(tenantId: string): Promise<{ endpoints: number; channels: number }> {
    return this.tenant(tenantId).one(
      `select
        (select count(*) from webhook.endpoints where tenant_id = $1 and deleted_at is null)::integer as endpoints,
        (select count(*) from webhook.channel_instances
          where tenant_id = $1 and deleted_at is null)::integer as channels`,
      [tenantId],
    );
  }
}
