import type { ServerResponse } from 'node:http';
import type { Changes } from '@gatehouse/audited-changes/changes';
import { tenantOf, type Call, type Handler, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import { requesterOf, ConsentFlow } from '@gatehouse/public-access/consent-flow';
import type { ConsentLink, ConsentTickets } from '@gatehouse/public-access/consent-tickets';
import type { Refusals } from '@gatehouse/public-access/refusals';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { Channel } from './channel.ts';
import type { ChannelStore } from './channel-store.ts';
import type { ChannelConsentKind } from './consent-kind.ts';

export interface ConsentDependencies {
  channels: ChannelStore;
  tickets: ConsentTickets;
  kind: ChannelConsentKind;
  refusals: Refusals;
  changes: Changes;
  /** A pool of `webhook_app`. */
  app: Pool;
  publicUrl: string;
}

/** `POST /v1/channels/instances/{id}/<slug>/consent-links` */
export function consentLinkHandlers(dependencies: ConsentDependencies): Record<string, Handler> {
  return {
    [`channels.${dependencies.kind.slug}.consent-links.create`]: async (call: Call) => {
      const channel = await channelOf(dependencies, call);
      return dependencies.changes.change(call, async (db) => {
        const link = await makeLink(dependencies, db, { channel, call });
        return {
          body: { url: urlOf(dependencies, channel.id, link), expires_at: link.expiresAt.toISOString() },
          changes: [],
        };
      });
    },
  };
}

/** The consent page, its button, and where the browser comes back. */
export function consentPageHandlers(dependencies: ConsentDependencies): Record<string, RawHandler> {
  const { kind, tickets, refusals, publicUrl } = dependencies;
  const flow = new ConsentFlow({ kind, tickets, refusals, publicUrl });
  return {
    [`channels.${kind.slug}.consent`]: async (request, response, call) => {
      if (call.principal.tenantId !== null) await sendLink(dependencies, response, call);
      else await flow.page(request, response, call);
    },
    [`channels.${kind.slug}.consent.begin`]: flow.begin,
    [`channels.${kind.slug}.callback`]: flow.callback,
  };
}

async function sendLink(
  dependencies: ConsentDependencies,
  response: ServerResponse,
  call: RawCall,
): Promise<void> {
  const channel = await channelOf(dependencies, call);
  const link = await withTenant(dependencies.app, channel.tenantId, (db) =>
    makeLink(dependencies, db, { channel, call }),
  );
  const body = {
    authorization_url: urlOf(dependencies, channel.id, link),
    state: link.state,
    expires_at: link.expiresAt.toISOString(),
  };
  sendJson(response, 200, body, { [requestIdHeader]: call.requestId });
}

/** The channel that a request names. Throws a 404, and a 400 for one of another type. */
async function channelOf(
  { channels, kind, publicUrl }: ConsentDependencies,
  call: Pick<Call, 'principal' | 'params'>,
): Promise<Channel> {
  const id = resourceId(call.params, 'channel');
  const channel = orNotFound(await channels.find(tenantOf(call).tenantId, id), 'channel');
  if (channel.type !== kind.type)
    throw new AppError('invalid_value', `Only channels of the type ${kind.type} need a consent.`);
  if (publicUrl === '')
    throw new AppError(
      'service_unavailable',
      `The operator has not set PUBLIC_URL, which ${kind.provider} needs.`,
    );
  return channel;
}

function makeLink(
  { tickets }: ConsentDependencies,
  db: Queryable,
  { channel, call }: { channel: Channel; call: Pick<Call, 'principal'> },
): Promise<ConsentLink> {
  return tickets.make(db, { tenantId: channel.tenantId, subjectId: channel.id, askedBy: requesterOf(call) });
}

function urlOf({ kind, publicUrl }: ConsentDependencies, id: string, { ticket }: ConsentLink): string {
  return `${publicUrl}/v1/channels/instances/${id}/${kind.slug}/consent?ticket=${ticket}`;
}
