import { z } from 'zod';
import { utcTime } from './fields.ts';
import { created, ok, routesWith, scope, type Route } from './route.ts';
import { instanceExample } from './channel-instances.ts';

/** Consent of the administrator of a Zalo Official Account: `/v1/channels/instances/{id}/zalo-oa/*`. */

export const zaloConsentLink = z.strictObject({
  url: z.string().describe('To be opened in a browser, by an administrator of the Official Account'),
  expires_at: utcTime,
});

export const zaloConsent = z.strictObject({
  authorization_url: z.string().describe('To be opened in a browser'),
  state: z.string().describe('Random text that Zalo receives as `state`'),
  expires_at: utcTime,
});

const ticketQuery = z.strictObject({ ticket: z.string().max(128).optional() });
/** Zalo decides what it adds. */
const callbackQuery = z.looseObject({
  code: z.string().max(4_096).optional(),
  state: z.string().max(256).optional(),
  oa_id: z.string().max(64).optional(),
});

const path = '/v1/channels/instances/{id}/zalo-oa/consent';
const params = { id: instanceExample.id };
const link = {
  url: `https://gateway.example.com${path.replace('{id}', instanceExample.id)}?ticket=q3mE…`,
  expires_at: '2026-01-10T09:10:00.000Z',
};

const route = routesWith({ service: 'webhook' });

export const routes: readonly Route[] = [
  route('channels.zalo-oa.consent-links.create', 'POST /v1/channels/instances/{id}/zalo-oa/consent-links', {
    access: scope('channels.write'),
    idempotencyKey: true,
    response: created(zaloConsentLink),
    nullInDryRun: ['url'],
    summary: 'Make a link to the consent page of a Zalo channel',
    examples: { link: { summary: 'A link for ten minutes', params, response: link } },
  }),
  route('channels.zalo-oa.consent', `GET ${path}`, {
    access: { kind: 'ticket', headers: [], scope: 'channels.write' },
    query: ticketQuery,
    response: ok(zaloConsent),
    summary: 'Begin the consent for a Zalo channel',
    description: [
      'With a key, returns a link as `authorization_url`. A browser that opens the link, with `?ticket=` and without a key,',
      'gets a page with one button, which leads to Zalo. Opening the page uses nothing up, so a preview of the link is safe.',
    ].join('\n'),
    examples: {
      link: {
        summary: 'A link for ten minutes',
        params,
        response: { authorization_url: link.url, state: 'Vx8r…', expires_at: link.expires_at },
      },
    },
  }),
];

/** Routes for browsers only: not part of the OpenAPI document. */
export const pageRoutes: readonly Route[] = [
  route('channels.zalo-oa.consent.begin', `POST ${path}`, {
    access: { kind: 'ticket', headers: ['origin', 'sec-fetch-site'] },
    query: ticketQuery,
    response: { status: 303, shape: null },
    summary: 'The button of the consent page: leads to Zalo',
  }),
  route('channels.zalo-oa.callback', 'GET /v1/channels/zalo-oa/callback', {
    access: { kind: 'ticket', headers: ['cookie'] },
    query: callbackQuery,
    response: { status: 200, shape: null },
    summary: 'Zalo redirects the browser here after the consent',
  }),
];
