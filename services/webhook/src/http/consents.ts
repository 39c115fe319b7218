import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Changes } from '@gatehouse/changes/changes';
import { consentMinutes } from '@gatehouse/contract/channel-consents';
import { tenantOf, type Call, type Handler, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { sendJson } from '@gatehouse/http/reply';
import { requestIdHeader } from '@gatehouse/http/request-context';
import { found, resourceId } from '@gatehouse/http/resource';
import { queryObject } from '@gatehouse/http/validate';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { Channel } from '../channels/channel.ts';
import { consentPage, endPage, pageHeaders } from '../channels/consent-page.ts';
import { sha256, type ConsentLink, type ConsentOf, type Consents } from '../channels/consents.ts';
import type { ConsentEnd, ZaloConsents } from '../channels/zalo-consents.ts';
import { sameText } from '../inbound/same-text.ts';
import type { Refusals } from '../inbound/refusals.ts';
import type { ChannelStore } from '../store/channel-store.ts';
import type { OpenTicket } from '../store/consent-system-store.ts';

export interface ConsentDependencies {
  channels: ChannelStore;
  consents: Consents;
  zalo: ZaloConsents;
  refusals: Refusals;
  changes: Changes;
  /** A pool of `webhook_app`. */
  app: Pool;
  findTicket: (ticketSha256: Buffer) => Promise<OpenTicket | null>;
  findTicketOfState: (stateSha256: Buffer) => Promise<OpenTicket | null>;
  publicUrl: string;
  log: Logger;
}

const consentPath = (id: string): string => `/v1/channels/instances/${id}/zalo-oa/consent`;
const callbackPath = '/v1/channels/zalo-oa/callback';

/** `POST /v1/channels/instances/{id}/zalo-oa/consent-links` */
export function consentLinkHandlers(dependencies: ConsentDependencies): Record<string, Handler> {
  return {
    'channels.zalo-oa.consent-links.create': async (call: Call) => {
      const channel = await zaloChannel(dependencies, call);
      return dependencies.changes.change(call, async (db) => {
        const link = await dependencies.consents.make(db, consentOf(channel, call));
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
  return {
    'channels.zalo-oa.consent': async (request, response, call) => {
      if (call.principal.tenantId !== null) await sendLink(dependencies, response, call);
      else await showPage(dependencies, request, response, call);
    },
    'channels.zalo-oa.consent.begin': (request, response, call) =>
      begin(dependencies, request, response, call),
    'channels.zalo-oa.callback': (request, response, call) => finish(dependencies, request, response, call),
  };
}

async function sendLink(
  dependencies: ConsentDependencies,
  response: ServerResponse,
  call: RawCall,
): Promise<void> {
  const channel = await zaloChannel(dependencies, call);
  const link = await withTenant(dependencies.app, channel.tenantId, (db) =>
    dependencies.consents.make(db, consentOf(channel, call)),
  );
  const body = {
    authorization_url: urlOf(dependencies, channel.id, link),
    state: link.state,
    expires_at: link.expiresAt.toISOString(),
  };
  const headers = { [requestIdHeader]: call.requestId, 'cache-control': 'no-store' };
  sendJson(response, 200, body, headers);
}

async function showPage(
  dependencies: ConsentDependencies,
  request: IncomingMessage,
  response: ServerResponse,
  call: RawCall,
): Promise<void> {
  const open = await openTicket(dependencies, request, call);
  if (open === null) {
    sendEnd(dependencies, response, call, 'over');
    return;
  }
  const { ticket, channel } = open;
  const { tenant, key_id: keyId, user_id: userId } = ticket.askedBy;
  const asker = [userId, keyId === null ? null : `key ${keyId}`].filter((part) => part !== null).join(', ');
  const html = consentPage({ tenant, channel: channel.name, askedBy: asker });
  send(dependencies, response, call, { status: 200, html });
}

async function begin(
  dependencies: ConsentDependencies,
  request: IncomingMessage,
  response: ServerResponse,
  call: RawCall,
): Promise<void> {
  const open = await openTicket(dependencies, request, call);
  const begun = open === null ? null : await dependencies.consents.begin(open.ticket);
  const redirectUri = dependencies.publicUrl + callbackPath;
  const location =
    open === null || begun === null
      ? null
      : await dependencies.zalo.authorizationUrl(open.ticket, { redirectUri, ...begun });
  if (begun === null || location === null) {
    sendEnd(dependencies, response, call, 'over');
    return;
  }
  response.writeHead(303, {
    ...{ location, 'set-cookie': cookieOf(dependencies, begun.state), [requestIdHeader]: call.requestId },
    ...pageHeaders(dependencies.zalo.origin),
    'content-length': '0',
  });
  response.end();
}

async function finish(
  dependencies: ConsentDependencies,
  request: IncomingMessage,
  response: ServerResponse,
  call: RawCall,
): Promise<void> {
  const { code, state = '', oa_id: account } = query(request);
  // A state that somebody else has got is of no use without the cookie of the browser that began.
  const isOwn = state !== '' && sameText(stateCookie(dependencies, request) ?? '', state);
  const ticket = await dependencies.findTicketOfState(sha256(state));
  if (!isOwn || ticket === null) {
    await dependencies.refusals.count(clientIpOf(request));
    sendEnd(dependencies, response, call, 'over');
    return;
  }
  const verifier = await dependencies.consents.finish(ticket, state);
  if (verifier === null) {
    sendEnd(dependencies, response, call, 'over');
    return;
  }
  if (code === undefined) {
    sendEnd(dependencies, response, call, 'declined');
    return;
  }
  const end = await dependencies.zalo.finish(ticket, {
    ...{ code, verifier, account: account ?? null },
    circumstances: { clientIp: clientIpOf(request), requestId: call.requestId },
  });
  sendEnd(dependencies, response, call, end);
}

type End = ConsentEnd | 'declined';

/** Status, title and text of the page. */
const ends: Record<End, [status: number, title: string, text: string]> = {
  connected: [200, 'Connected', 'Messages to the account are answered now. You can close this page.'],
  over: [
    410,
    'This link is no longer valid',
    'It was used, or is older than ten minutes. Ask for a new one.',
  ],
  declined: [400, 'Not connected', 'Zalo did not confirm the consent. Open the link again to go on.'],
  refused: [400, 'Not connected', 'Zalo did not give access. Open the link again to go on.'],
  unavailable: [400, 'Not connected', 'Zalo could not be asked. Open the link again to go on.'],
  other_account: [
    400,
    'Not connected',
    'The consent is for another Official Account than the channel is for.',
  ],
};

async function openTicket(
  { findTicket, channels, refusals }: ConsentDependencies,
  request: IncomingMessage,
  { params }: RawCall,
): Promise<{ ticket: OpenTicket; channel: Channel } | null> {
  const ticket = await findTicket(sha256(query(request)['ticket'] ?? ''));
  const channel = ticket === null ? null : await channels.find(ticket.tenantId, ticket.instanceId);
  if (ticket !== null && channel !== null && channel.id === params['id']) return { ticket, channel };
  await refusals.count(clientIpOf(request));
  return null;
}

function sendEnd(dependencies: ConsentDependencies, response: ServerResponse, call: RawCall, end: End): void {
  const [status, title, text] = ends[end];
  send(dependencies, response, call, { status, html: endPage(title, text) });
}

function send(
  { zalo }: ConsentDependencies,
  response: ServerResponse,
  { requestId }: RawCall,
  { status, html }: { status: number; html: string },
): void {
  const body = Buffer.from(html);
  response.writeHead(status, {
    ...pageHeaders(zalo.origin),
    'content-length': body.length,
    [requestIdHeader]: requestId,
  });
  response.end(body);
}

/** The channel that a request names. Throws a 404, and a 400 for one of another type. */
async function zaloChannel(
  { channels, publicUrl }: ConsentDependencies,
  call: Pick<Call, 'principal' | 'params'>,
): Promise<Channel> {
  const id = resourceId(call.params, 'channel');
  const channel = found(await channels.find(tenantOf(call).tenantId, id), 'channel');
  if (channel.type !== 'zalo_oa')
    throw new AppError('invalid_value', 'Only channels of the type zalo_oa need a consent.');
  if (publicUrl === '')
    throw new AppError('service_unavailable', 'The operator has not set PUBLIC_URL, which Zalo needs.');
  return channel;
}

function consentOf({ tenantId, id: instanceId }: Channel, call: Pick<Call, 'principal'>): ConsentOf {
  const { tenantSlug, keyId, actingUser, role } = tenantOf(call);
  const askedBy = { tenant: tenantSlug, key_id: keyId, user_id: actingUser, role };
  return { tenantId, instanceId, askedBy };
}

function urlOf({ publicUrl }: ConsentDependencies, id: string, { ticket }: ConsentLink): string {
  return `${publicUrl}${consentPath(id)}?ticket=${ticket}`;
}

const query = (request: IncomingMessage): Record<string, string> =>
  queryObject((request.url ?? '').split('?')[1] ?? '');

/** Browsers keep a cookie of this name for the origin that set it, but only over https. */
const cookieName = (publicUrl: string): string =>
  publicUrl.startsWith('https:') ? '__Host-gatehouse-consent' : 'gatehouse-consent';

function cookieOf({ publicUrl }: ConsentDependencies, state: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : '';
  return `${cookieName(publicUrl)}=${state}; Path=/; Max-Age=${consentMinutes * 60}; HttpOnly; SameSite=Lax${secure}`;
}

function stateCookie({ publicUrl }: ConsentDependencies, { headers }: IncomingMessage): string | null {
  const prefix = `${cookieName(publicUrl)}=`;
  const found = (headers.cookie ?? '').split(/;\s*/).find((pair) => pair.startsWith(prefix));
  return found?.slice(prefix.length) ?? null;
}
