import { tenantOf, type Call, type Handler, type RawHandler } from '@gatehouse/http/app';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { requesterOf, ConsentFlow } from '@gatehouse/public-access/consent-flow';
import type { ConsentTickets } from '@gatehouse/public-access/consent-tickets';
import type { Ground } from '../../../ground.ts';
import type { Channel } from '../../channel.ts';
import type { ChannelStore } from '../../channel-store.ts';
import type { ZaloConsents } from './consents-store.ts';

export interface ConsentDependencies extends Pick<Ground, 'app' | 'changes' | 'refusals'> {
  channels: ChannelStore;
  tickets: ConsentTickets;
  kind: ZaloConsents;
  publicUrl: string;
}

type Asking = Pick<Call, 'principal' | 'params'>;

/** `/v1/channels/instances/{id}/zalo-oa/*`: links, the consent page, its button, and where the browser comes back. */
export function zaloConsentHandlers(dependencies: ConsentDependencies): {
  handlers: Record<string, Handler>;
  rawHandlers: Record<string, RawHandler>;
} {
  const { app, changes, tickets, publicUrl } = dependencies;
  const flow = new ConsentFlow(dependencies);
  const makeLink = async (db: Queryable, { tenantId, id: subjectId }: Channel, call: Asking) => {
    const link = await tickets.make(db, { tenantId, subjectId, askedBy: requesterOf(call) });
    const url = `${publicUrl}/v1/channels/instances/${subjectId}/zalo-oa/consent?ticket=${link.ticket}`;
    return { url, state: link.state, expires_at: link.expiresAt.toISOString() };
  };
  return {
    handlers: {
      'channels.zalo-oa.consent-links.create': async (call: Call) => {
        const channel = await channelOf(dependencies, call);
        return changes.change(call, async (db) => {
          const { url, expires_at } = await makeLink(db, channel, call);
          return { body: { url, expires_at }, changes: [] };
        });
      },
    },
    rawHandlers: {
      'channels.zalo-oa.consent': async (request, response, call) => {
        if (call.principal.tenantId === null) return flow.page(request, response, call);
        const channel = await channelOf(dependencies, call);
        const { url, ...link } = await withTenant(app, channel.tenantId, (db) => makeLink(db, channel, call));
        const body = { authorization_url: url, ...link };
        sendJson(response, 200, body, { [requestIdHeader]: call.requestId });
      },
      'channels.zalo-oa.consent.begin': flow.begin,
      'channels.zalo-oa.callback': flow.callback,
    },
  };
}

/** The channel of a request. Throws a 404, and a 400 for one of another type. */
async function channelOf({ channels, publicUrl }: ConsentDependencies, call: Asking): Promise<Channel> {
  const id = resourceId(call.params, 'channel');
  const channel = orNotFound(await channels.find(tenantOf(call).tenantId, id), 'channel');
  if (channel.type !== 'zalo_oa')
    throw new AppError('invalid_value', 'Only channels of the type zalo_oa need a consent.');
  if (publicUrl === '')
    throw new AppError('service_unavailable', 'The operator has not set PUBLIC_URL, which Zalo needs.');
  return channel;
}
