import { z } from 'zod';
import { listOf, page, setOf, storableText, utcTime, uuid } from './fields.ts';
import { overlapSeconds, rotateApiKey } from './keys.ts';
import { created, noContent, ok, pageExample, pick, routesWith, scope, type Route } from './route.ts';
import { isSignatureHeader } from './signature-headers.ts';

/** Endpoints for webhooks to agents: `/v1/webhooks/endpoints*`. */

/** Endpoints of one tenant. */
export const maxEndpoints = 1_000;

/** How a delivery proves to be genuine. */
export const webhookSchemes = [
  'standard',
  'github',
  'stripe',
  'slack',
  'grafana',
  'pagerduty',
  'sentry',
  'hmac',
  'token',
] as const;
export const webhookScheme = z.enum(webhookSchemes);
export type WebhookScheme = z.output<typeof webhookScheme>;

/** Ready templates of Gatehouse, by the systems with these payloads. */
export const readyTemplates = ['alertmanager', 'grafana', 'github', 'gitlab', 'pagerduty', 'sentry'] as const;

export const webhookMode = z.enum(['sync', 'async']);

/** A secret of Standard Webhooks given by a client; the service checks its length in bytes. */
export const standardSecret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/, 'must be whsec_ and base64');

/** The header of the scheme `hmac`. */
const signatureHeader = z
  .string()
  .max(64)
  .refine((name) => isSignatureHeader(name.toLowerCase()), 'must be the name of a header for signatures');

/** Inside a header, after white space that HTTP drops. */
const signaturePrefix = z.string().regex(/^(?:[\x21-\x7e][\x20-\x7e]{0,63})?$/, 'must be printable ASCII');

/** A network in CIDR notation; the service checks it. */
const cidr = z.string().min(3).max(49);

export const deliverTo = z
  .strictObject({
    channel_instance_id: uuid.describe('A channel of the tenant'),
    conversation: storableText(1, 255).describe(
      "The channel's id of the conversation: Slack's of a channel or a person, Telegram's of a chat, a `conversation_id`",
    ),
  })
  .describe('The conversation of a channel that answers are also sent to');

const settings = {
  name: storableText(1, 200),
  agent_id: uuid,
  template: storableText(1, 65_536)
    .nullable()
    .describe(
      `Makes the prompt from any JSON: a Liquid template, or the name of a ready-made one (${readyTemplates.map((name) => `\`${name}\``).join(', ')}). Without one, the body must have \`input\``,
    ),
  mode: webhookMode.describe('Whether a delivery is answered with the result, or at once'),
  callback_url: storableText(1, 2_000)
    .nullable()
    .describe('URL to which results of `async` deliveries are sent'),
  rate_limit_per_minute: z
    .int()
    .min(1)
    .max(100_000)
    .nullable()
    .describe('Maximum genuine deliveries a minute'),
  allowed_cidrs: setOf(cidr).max(100).describe('Networks that may deliver; empty for any'),
  enabled: z.boolean(),
  deliver_to: deliverTo.nullable(),
  header: signatureHeader
    .nullable()
    .describe(
      'Scheme `hmac`, which requires it: the header with the HMAC-SHA-256 of the body. Null for other schemes',
    ),
  encoding: z
    .enum(['hex', 'base64'])
    .nullable()
    .describe('Scheme `hmac`: encoding of the signature, `hex` if it is left out. Null for other schemes'),
  prefix: signaturePrefix
    .nullable()
    .describe(
      'Scheme `hmac`: text before the signature, such as `sha256=`; empty if it is left out. Null for other schemes',
    ),
};

export type DeliverTo = z.output<typeof deliverTo>;

export const webhookEndpoint = z.strictObject({
  id: uuid,
  ...settings,
  scheme: webhookScheme,
  url: z
    .string()
    .describe(
      'The URL for the sender; only its path where the operator has not set the public URL of the gateway',
    ),
  previous_secret_expires_at: utcTime
    .nullable()
    .describe('Until then the secret before the last rotation is accepted too'),
  previous_callback_secret_expires_at: utcTime
    .nullable()
    .describe('Until then results are signed by the `callback_secret` before the last change too'),
  created_at: utcTime,
  updated_at: utcTime,
});
export type WebhookEndpoint = z.output<typeof webhookEndpoint>;

const secretText = z.string().describe('Shown only in this response');

/** The response to creation, the only one with both secrets. */
export const webhookEndpointWithSecrets = webhookEndpoint.extend({
  secret: secretText,
  callback_secret: secretText.describe('Signs results; shown only in this response'),
});

export const webhookEndpointWithSecret = webhookEndpoint.extend({ secret: secretText });

const providedSecret = z
  .string()
  .regex(/^[\x21-\x7e]{16,256}$/, 'must be 16 to 256 printable ASCII characters')
  .optional()
  .describe(
    'The secret that the sender uses. Required for `stripe`, `slack`, `pagerduty`, `sentry` and `hmac`, whose senders make their own; otherwise one is made. `standard`: `whsec_` and base64',
  );

const agentRef = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?$/, 'must be the id or the key of an agent')
  .describe('Id or key of the agent');

export const createWebhookEndpoint = z.strictObject({
  name: settings.name,
  agent_id: agentRef,
  scheme: webhookScheme.default('standard'),
  secret: providedSecret,
  template: settings.template.default(null),
  mode: settings.mode.default('sync'),
  callback_url: settings.callback_url.default(null),
  rate_limit_per_minute: settings.rate_limit_per_minute.default(null),
  allowed_cidrs: settings.allowed_cidrs.default(() => []),
  enabled: settings.enabled.default(true),
  deliver_to: settings.deliver_to.default(null),
  header: settings.header.default(null),
  encoding: settings.encoding.default(null),
  prefix: settings.prefix.default(null),
});
export type CreateWebhookEndpoint = z.output<typeof createWebhookEndpoint>;

export const patchWebhookEndpoint = z
  .strictObject({
    ...settings,
    agent_id: agentRef,
    callback_secret: standardSecret.describe(
      'A new secret that signs results: `whsec_` and the base64 of 24 to 64 bytes',
    ),
    overlap_seconds: overlapSeconds.describe(
      'Seconds for which results are signed by the old `callback_secret` too; 86,400 if it is left out. Without a new secret it shortens that time, and 0 ends it',
    ),
  })
  .partial();
export type PatchWebhookEndpoint = z.output<typeof patchWebhookEndpoint>;

export const rotateWebhookSecret = rotateApiKey.extend({ secret: providedSecret });
export type RotateWebhookSecret = z.output<typeof rotateWebhookSecret>;

export const listWebhookEndpoints = z.strictObject(page);
export const webhookEndpointList = listOf(webhookEndpoint);

const endpointExample = {
  id: '0198c2d0-6a1b-7c38-b1d4-3c6e8f1a2b76',
  name: 'Alerts of production',
  agent_id: '0198c2b1-3c4d-7e5f-8a9b-0c1d2e3f4a5b',
  scheme: 'standard',
  template: null,
  mode: 'async',
  callback_url: 'https://ops.example.com/gatehouse',
  rate_limit_per_minute: 60,
  allowed_cidrs: [],
  enabled: true,
  deliver_to: null,
  header: null,
  encoding: null,
  prefix: null,
  url: 'https://gateway.example.com/v1/webhooks/llm?endpoint=0198c2d0-6a1b-7c38-b1d4-3c6e8f1a2b76',
  previous_secret_expires_at: null,
  previous_callback_secret_expires_at: null,
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
};
const secretExample = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const hmacExample = { scheme: 'hmac', header: 'X-Shopify-Hmac-SHA256', encoding: 'base64' };
const senderSecretExample = 'a-secret-that-the-sender-shows';
const params = { id: endpointExample.id };

const route = routesWith({ service: 'webhook', access: scope('webhooks.write') });

export const routes: readonly Route[] = [
  route('webhooks.endpoints.list', 'GET /v1/webhooks/endpoints', {
    query: listWebhookEndpoints,
    response: ok(webhookEndpointList),
    summary: 'List the webhook endpoints of the tenant',
    examples: pageExample('The newest endpoint', endpointExample),
  }),
  route('webhooks.endpoints.create', 'POST /v1/webhooks/endpoints', {
    idempotencyKey: true,
    body: createWebhookEndpoint,
    response: created(webhookEndpointWithSecrets),
    nullInDryRun: ['id', 'url', 'secret', 'callback_secret'],
    summary: 'Create a webhook endpoint; its secrets are shown only in this response',
    examples: {
      hmac: {
        summary: 'Signed in a header of the sender (here Shopify)',
        body: {
          ...pick(endpointExample, 'name', 'agent_id', 'mode', 'callback_url', 'rate_limit_per_minute'),
          ...hmacExample,
          secret: senderSecretExample,
        },
        response: {
          ...{ ...endpointExample, ...hmacExample, prefix: '' },
          ...{ secret: senderSecretExample, callback_secret: secretExample },
        },
      },
      standard: {
        summary: 'Signed by Standard Webhooks, with results sent to a URL',
        body: pick(endpointExample, 'name', 'agent_id', 'mode', 'callback_url', 'rate_limit_per_minute'),
        response: { ...endpointExample, secret: secretExample, callback_secret: secretExample },
      },
    },
  }),
  route('webhooks.endpoints.get', 'GET /v1/webhooks/endpoints/{id}', {
    response: ok(webhookEndpoint),
    summary: 'Get a webhook endpoint',
    examples: { endpoint: { summary: 'An endpoint', params, response: endpointExample } },
  }),
  route('webhooks.endpoints.patch', 'PATCH /v1/webhooks/endpoints/{id}', {
    body: patchWebhookEndpoint,
    response: ok(webhookEndpoint),
    summary: 'Change a webhook endpoint',
    examples: {
      disable: {
        summary: 'Accept no deliveries any more',
        params,
        body: { enabled: false },
        response: { ...endpointExample, enabled: false },
      },
      callback_secret: {
        summary: 'Sign results with a new secret, and for an hour with the old one too',
        params,
        body: { callback_secret: secretExample, overlap_seconds: 3_600 },
        response: { ...endpointExample, previous_callback_secret_expires_at: '2026-01-10T10:00:00.000Z' },
      },
    },
  }),
  route('webhooks.endpoints.delete', 'DELETE /v1/webhooks/endpoints/{id}', {
    response: noContent,
    summary: 'Delete a webhook endpoint with its calls',
    examples: { endpoint: { summary: 'An endpoint', params } },
  }),
  route('webhooks.endpoints.rotate-secret', 'POST /v1/webhooks/endpoints/{id}/rotate-secret', {
    idempotencyKey: true,
    body: rotateWebhookSecret,
    response: ok(webhookEndpointWithSecret),
    nullInDryRun: ['secret'],
    summary: 'Replace the secret of a webhook endpoint; the old one is accepted during the overlap',
    examples: {
      overlap: {
        summary: 'Both secrets are accepted for a day',
        params,
        body: { overlap_seconds: 86_400 },
        response: {
          ...endpointExample,
          previous_secret_expires_at: '2026-01-11T09:00:00.000Z',
          secret: secretExample,
        },
      },
    },
  }),
];
