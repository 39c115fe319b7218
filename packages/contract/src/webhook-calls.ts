import { z } from 'zod';
import { listOf, page, recordOf, storableText, userId, utcTime, uuid } from './fields.ts';
import { accepted, MiB, ok, pageOf, routesWith, scope, type Route } from './route.ts';
import { standardSignatureHeaders } from './signature-headers.ts';
import { deliverTo, webhookMode } from './webhook-endpoints.ts';

/** Deliveries for agents, and their results: `POST /v1/webhooks/llm`, `/v1/webhooks/calls*`. */

/** The headers with which senders prove a delivery genuine, name it and its event, and name the endpoint. */
export const deliveryHeaders = [
  'authorization',
  'x-webhook-endpoint',
  ...standardSignatureHeaders,
  'x-hub-signature-256',
  'x-github-delivery',
  'x-github-event',
  'x-gitlab-event',
  'stripe-signature',
  'x-slack-signature',
  'x-slack-request-timestamp',
  'x-grafana-alerting-signature',
  'x-grafana-alerting-timestamp',
  'x-pagerduty-signature',
  'sentry-hook-signature',
  'sentry-hook-resource',
  'request-id',
  'gatehouse-hops',
] as const;

const metadata = recordOf(z.string().max(64), z.string().max(512), 16);

/** The body of a delivery to an endpoint without a template. */
export const webhookInput = z.strictObject({
  input: z
    .union([
      z.string().min(1).max(MiB),
      z
        .array(z.looseObject({ role: z.string().max(64) }))
        .min(1)
        .max(1_000),
    ])
    .describe('A prompt, or the messages of a chat completion'),
  user_id: userId.optional().describe('The end user that the call is for'),
  session_id: userId.optional().describe('Groups runs into a conversation in traces and memory'),
  metadata: metadata.optional().describe('Kept with the call'),
  mode: webhookMode.optional().describe("Default: the endpoint's"),
  callback_url: storableText(1, 2_000).optional().describe("Default: the endpoint's"),
});
export type WebhookInput = z.output<typeof webhookInput>;

export const deliveryQuery = z.strictObject({
  endpoint: z.string().max(64).optional().describe('Id of the endpoint; or the header `X-Webhook-Endpoint`'),
});

/** The answer of the agent. */
const resultFields = {
  output: z.string().nullable(),
  finish_reason: z.string().nullable(),
  usage: z.record(z.string(), z.unknown()).nullable().describe("The model's, as in a chat completion"),
  trace_id: z.string().describe('Trace id of the run'),
};
export const webhookResult = z.strictObject({ call_id: uuid, agent_id: uuid, ...resultFields });
export type WebhookResult = z.output<typeof webhookResult>;

export const webhookQueued = z.strictObject({ call_id: uuid, status: z.literal('queued') });

export type WebhookQueued = z.output<typeof webhookQueued>;

/** A ping of the sender asks nothing. */
export const webhookIgnored = z.strictObject({ call_id: z.null(), status: z.literal('ignored') });
export type WebhookIgnored = z.output<typeof webhookIgnored>;

/** Slack checks the URL of an app's events, and expects its text back. */
export const webhookChallenge = z.strictObject({ challenge: z.string() });
export type WebhookChallenge = z.output<typeof webhookChallenge>;

/** The response to a delivery, by its mode. */
export const webhookAnswer = z.union([webhookResult, webhookQueued, webhookIgnored, webhookChallenge]);

export const callStatus = z.enum(['queued', 'running', 'succeeded', 'failed']);
export type CallStatus = z.output<typeof callStatus>;

const callFields = {
  call_id: uuid,
  endpoint_id: uuid,
  agent_id: uuid,
  delivery_id: z.string().nullable().describe("The sender's id of the delivery"),
  mode: webhookMode,
  status: callStatus,
  user_id: z.string().nullable(),
  session_id: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  callback_url: z.string().nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  created_at: utcTime,
  finished_at: utcTime.nullable(),
};
export const webhookCall = z.strictObject(callFields);
export type WebhookCall = z.output<typeof webhookCall>;

export const deliveryStatus = z.enum(['pending', 'delivered', 'failed']);

/** A result or an event sent to a URL. */
export const webhookDelivery = z.strictObject({
  id: uuid,
  url: z.string(),
  status: deliveryStatus,
  next_attempt_at: utcTime.nullable(),
  created_at: utcTime,
  attempts: z.array(
    z.strictObject({
      number: z.int().min(1),
      at: utcTime,
      duration_ms: z.int().min(0),
      status: z.int().nullable().describe('Status of the response; null without a response'),
      error: z.string().nullable().describe('Why there was no response'),
    }),
  ),
});
export type WebhookDelivery = z.output<typeof webhookDelivery>;

/** The answer of a call in a conversation of a channel. */
const channelDelivery = deliverTo.extend({
  status: deliveryStatus,
  reason: z.string().nullable().describe('Why it failed; null otherwise'),
});
export type ChannelDelivery = z.output<typeof channelDelivery>;

export const webhookCallWithResult = webhookCall.extend({
  output: resultFields.output,
  finish_reason: resultFields.finish_reason,
  usage: resultFields.usage,
  trace_id: resultFields.trace_id.nullable(),
  deliveries: z
    .array(webhookDelivery)
    .describe('Deliveries of the result to `callback_url`: at most 50, the newest first'),
  channel_delivery: channelDelivery
    .nullable()
    .describe(
      "The answer in the conversation that the endpoint's `deliver_to` named at the time of the call",
    ),
});
export type WebhookCallWithResult = z.output<typeof webhookCallWithResult>;

export const listWebhookCalls = z.strictObject(page);
export const webhookCallList = listOf(webhookCall);

const endpointId = '0198c2d0-6a1b-7c38-b1d4-3c6e8f1a2b76';
const callExample = {
  call_id: '0198c2d1-0b2c-7d4e-9f60-7a8b9c0d1e2f',
  endpoint_id: endpointId,
  agent_id: '0198c2b1-3c4d-7e5f-8a9b-0c1d2e3f4a5b',
  delivery_id: 'msg_2Yd5',
  mode: 'sync',
  status: 'succeeded',
  user_id: null,
  session_id: null,
  metadata: {},
  callback_url: null,
  error: null,
  created_at: '2026-01-10T09:00:00.000Z',
  finished_at: '2026-01-10T09:00:01.000Z',
};
const resultExample = {
  output: 'The disk of db-1 is nearly full: 3 GB are left.',
  finish_reason: 'stop',
  usage: { prompt_tokens: 21, completion_tokens: 12, total_tokens: 33 },
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
};
export const deliveryExample = {
  id: '0198c2d2-1c2d-7e4f-8a9b-0c1d2e3f4a5b',
  url: 'https://ops.example.com/gatehouse',
  status: 'pending',
  next_attempt_at: '2026-01-10T10:00:00.000Z',
  created_at: '2026-01-10T10:00:00.000Z',
  attempts: [],
};
const { call_id: callId, agent_id: agentId } = callExample;
const route = routesWith({ service: 'webhook', access: scope('webhooks.write') });

export const routes: readonly Route[] = [
  route('webhooks.llm', 'POST /v1/webhooks/llm', {
    access: { kind: 'signed', headers: deliveryHeaders, customHeaders: true },
    bodyLimit: MiB,
    passedBody: webhookInput,
    query: deliveryQuery,
    response: { status: 200, shape: webhookAnswer, also: 202 },
    summary: 'Call the agent of a webhook endpoint',
    description: [
      'The delivery is signed by the scheme of the endpoint, over the bytes of the body: `webhook-id`,',
      '`webhook-timestamp` and `webhook-signature` (Standard Webhooks), or the same as `svix-…`, by default. A repeat of a',
      'delivery, by its id or its body, gets the same response with `Idempotency-Replayed: true`. An endpoint with a',
      'template takes any JSON.',
      'The ping of a new webhook of GitHub, and checks of Slack for slash commands, are ignored. `url_verification` of',
      'Slack is answered with its `challenge`.',
    ].join('\n'),
    examples: {
      sync: {
        summary: 'The answer at once',
        query: { endpoint: endpointId },
        body: { input: 'Disk of db-1: 97 % used' },
        response: { call_id: callId, agent_id: agentId, ...resultExample },
      },
      async: {
        summary: 'The answer later',
        query: { endpoint: endpointId },
        body: { input: 'Disk of db-1: 97 % used', mode: 'async' },
        response: { call_id: callId, status: 'queued' },
      },
    },
  }),
  route('webhooks.endpoints.calls', 'GET /v1/webhooks/endpoints/{id}/calls', {
    query: listWebhookCalls,
    response: ok(webhookCallList),
    summary: 'List the calls of a webhook endpoint; they are kept for 30 days',
    examples: {
      page: {
        summary: 'The newest call',
        params: { id: endpointId },
        query: { limit: 20 },
        response: pageOf(callExample),
      },
    },
  }),
  route('webhooks.calls.get', 'GET /v1/webhooks/calls/{call_id}', {
    response: ok(webhookCallWithResult),
    summary: 'Get a call with its result',
    examples: {
      call: {
        summary: 'A call that succeeded',
        params: { call_id: callId },
        response: { ...callExample, ...resultExample, deliveries: [], channel_delivery: null },
      },
    },
  }),
  route('webhooks.calls.redeliver', 'POST /v1/webhooks/calls/{call_id}/redeliver', {
    idempotencyKey: true,
    body: z.strictObject({}),
    response: accepted(webhookDelivery),
    summary: 'Send the stored result of a call to its callback URL again',
    examples: {
      again: {
        summary: 'The receiver has lost it',
        params: { call_id: callId },
        body: {},
        response: deliveryExample,
      },
    },
  }),
];
