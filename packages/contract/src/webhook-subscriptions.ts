import { z } from 'zod';
import { ownerAlertTypes, tenantAlertTypes } from './alert-types.ts';
import { listOf, page, setOf, storableText, utcTime, uuid } from './fields.ts';
import {
  accepted,
  created,
  noContent,
  ok,
  owner,
  pageExample,
  routesWith,
  scope,
  type Route,
} from './route.ts';
import { overlapSeconds } from './keys.ts';
import { deliveryExample, deliveryStatus, webhookDelivery } from './webhook-calls.ts';
import { standardSecret } from './webhook-endpoints.ts';

/** Subscriptions to events: `/v1/webhooks/subscriptions*`, and those of the owner. */

/** Subscriptions of one tenant, or of the owner. */
export const maxSubscriptions = 50;

const url = storableText(1, 2_000).describe('Receives events as Standard Webhooks');
const enabled = z.boolean().describe('Disabled after 410 or five days of failures');

const lastDelivery = z
  .strictObject({ at: utcTime, status: deliveryStatus })
  .nullable()
  .describe('The last attempt; `pending` if another one follows');

/** Shapes of subscriptions to some types of events. */
function shapesOf<const Types extends readonly [string, ...string[]]>(types: Types) {
  const eventTypes = setOf(z.enum(types)).min(1).max(types.length);
  const subscription = z.strictObject({
    id: uuid,
    url,
    event_types: eventTypes,
    enabled,
    last_delivery: lastDelivery,
    previous_secret_expires_at: utcTime
      .nullable()
      .describe('Until then events are signed by the secret before the last change too'),
    created_at: utcTime,
    updated_at: utcTime,
  });
  return {
    subscription,
    withSecret: subscription.extend({
      secret: z.string().describe('Signs events; shown only in this response'),
    }),
    create: z.strictObject({ url, event_types: eventTypes, enabled: enabled.default(true) }),
    patch: z
      .strictObject({
        ...{ url, event_types: eventTypes, enabled },
        secret: standardSecret.describe(
          'A new secret that signs events: `whsec_` and the base64 of 24 to 64 bytes',
        ),
        overlap_seconds: overlapSeconds.describe(
          'Seconds for which events are signed by the old secret too; 86,400 if it is left out. Without a new secret it shortens that time, and 0 ends it',
        ),
      })
      .partial(),
    list: listOf(subscription),
  };
}

const tenantShapes = shapesOf(tenantAlertTypes);
const ownerShapes = shapesOf(ownerAlertTypes);

export const webhookSubscription = tenantShapes.subscription;
export const webhookSubscriptionWithSecret = tenantShapes.withSecret;
export const createWebhookSubscription = tenantShapes.create;
export const patchWebhookSubscription = tenantShapes.patch;
export const webhookSubscriptionList = tenantShapes.list;
export const ownerWebhookSubscription = ownerShapes.subscription;
export const ownerWebhookSubscriptionWithSecret = ownerShapes.withSecret;
export const createOwnerWebhookSubscription = ownerShapes.create;
export const patchOwnerWebhookSubscription = ownerShapes.patch;
export const ownerWebhookSubscriptionList = ownerShapes.list;

/** A subscription of a tenant or of the owner. */
export type WebhookSubscription = z.output<typeof webhookSubscription | typeof ownerWebhookSubscription>;
export type CreateWebhookSubscription = z.output<
  typeof createWebhookSubscription | typeof createOwnerWebhookSubscription
>;
export type PatchWebhookSubscription = z.output<
  typeof patchWebhookSubscription | typeof patchOwnerWebhookSubscription
>;

export const listWebhookSubscriptions = z.strictObject(page);

/** The body sent for an event. */
export const webhookEvent = z.strictObject({
  type: z.string(),
  timestamp: utcTime,
  data: z.record(z.string(), z.unknown()),
});
export type WebhookEvent = z.output<typeof webhookEvent>;

/** The type of the event sent by `…/test`. */
export const testEventType = 'webhook.test';

const secretExample = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

type Shapes = typeof tenantShapes | typeof ownerShapes;

interface Audience {
  prefix: string;
  path: `/${string}`;
  whose: string;
  types: readonly string[];
  access: Route['access'];
}

/** The same routes for a tenant and for the owner. */
function routesOf(shapes: Shapes, audience: Audience): Route[] {
  const example = {
    id: '0198c2d4-3e4f-7a5b-8c6d-7e8f9a0b1c2d',
    url: 'https://ops.example.com/gatehouse',
    event_types: audience.types,
    enabled: true,
    last_delivery: null,
    previous_secret_expires_at: null,
    created_at: '2026-01-10T09:00:00.000Z',
    updated_at: '2026-01-10T09:00:00.000Z',
  };
  return [...routesOfAll(shapes, audience, example), ...routesOfOne(shapes, audience, example)];
}

type SubscriptionExample = Readonly<Record<string, unknown>> & { id: string; url: string };

function routesOfAll(
  { list, create, withSecret }: Shapes,
  { prefix, path, whose, types, access }: Audience,
  example: SubscriptionExample,
): Route[] {
  const route = routesWith({ service: 'webhook', access });
  return [
    route(`${prefix}.list`, `GET ${path}`, {
      query: listWebhookSubscriptions,
      response: ok(list),
      summary: `List the subscriptions of ${whose} to events`,
      examples: pageExample('The newest subscription', example),
    }),
    route(`${prefix}.create`, `POST ${path}`, {
      idempotencyKey: true,
      body: create,
      response: created(withSecret),
      nullInDryRun: ['id', 'secret'],
      summary: `Subscribe a URL to events of ${whose}; its secret is shown only in this response`,
      examples: {
        subscription: {
          summary: 'Two types of events',
          body: { url: example.url, event_types: types },
          response: { ...example, secret: secretExample },
        },
      },
    }),
  ];
}

function routesOfOne(
  { patch, subscription }: Shapes,
  { prefix, path, whose, access }: Audience,
  example: SubscriptionExample,
): Route[] {
  const route = routesWith({ service: 'webhook', access });
  const params = { id: example.id };
  return [
    route(`${prefix}.get`, `GET ${path}/{id}`, {
      response: ok(subscription),
      summary: `Get a subscription of ${whose}`,
      examples: { subscription: { summary: 'A subscription', params, response: example } },
    }),
    route(`${prefix}.patch`, `PATCH ${path}/{id}`, {
      body: patch,
      response: ok(subscription),
      summary: `Change a subscription of ${whose}; disabling it gives up what was not delivered`,
      examples: {
        disable: {
          summary: 'Send no events any more',
          params,
          body: { enabled: false },
          response: { ...example, enabled: false },
        },
        secret: {
          summary: 'Sign events with a new secret, and for a day with the old one too',
          params,
          body: { secret: secretExample },
          response: { ...example, previous_secret_expires_at: '2026-01-11T09:00:00.000Z' },
        },
      },
    }),
    route(`${prefix}.delete`, `DELETE ${path}/{id}`, {
      response: noContent,
      summary: `Delete a subscription of ${whose}`,
      examples: { subscription: { summary: 'A subscription', params } },
    }),
    route(`${prefix}.test`, `POST ${path}/{id}/test`, {
      idempotencyKey: true,
      body: z.strictObject({}),
      response: accepted(webhookDelivery),
      summary: `Send an event of the type ${testEventType} to a subscription of ${whose}, also while it is disabled`,
      examples: {
        test: {
          summary: 'Does the URL receive events?',
          params,
          body: {},
          response: { ...deliveryExample, url: example.url },
        },
      },
    }),
  ];
}

export const routes: readonly Route[] = [
  ...routesOf(tenantShapes, {
    prefix: 'webhooks.subscriptions',
    path: '/v1/webhooks/subscriptions',
    whose: 'the tenant',
    types: ['budget.threshold', 'run.failed'],
    access: scope('webhooks.write'),
  }),
  ...routesOf(ownerShapes, {
    prefix: 'owner.webhook-subscriptions',
    path: '/internal/v1/owner/webhook-subscriptions',
    whose: 'the owner',
    types: ['provider.down', 'model.unpriced'],
    access: owner,
  }),
];
