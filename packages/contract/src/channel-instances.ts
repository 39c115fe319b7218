import { z } from 'zod';
import { listOf, page, storableText, utcTime, uuid } from './fields.ts';
import { overlapSeconds } from './keys.ts';
import { created, noContent, ok, pageExample, routesWith, scope, type Route } from './route.ts';

/** Messaging channels of agents: `/v1/channels/instances*`. */

/** Instances of one tenant. */
export const maxChannelInstances = 100;

export const channelTypes = ['generic', 'telegram', 'slack', 'zalo_oa'] as const;
export const channelType = z.enum(channelTypes);
export type ChannelType = z.output<typeof channelType>;

/** A secret given by a provider. */
const providedSecret = z
  .string()
  .regex(/^[\x21-\x7e]{8,512}$/, 'must be 8 to 512 printable ASCII characters without spaces');

const nothing = z.strictObject({});

/** The members of each type: `config` is shown, `credentials` never are. */
export const channelShapes = {
  generic: {
    config: z.strictObject({
      callback_url: storableText(1, 2_000).describe('URL to which replies are sent as Standard Webhooks'),
    }),
    credentials: z.strictObject({
      secret: providedSecret
        .optional()
        .describe(
          'Signs messages in both directions: `whsec_` and the base64 of 24 to 64 bytes. Made if it is left out',
        ),
    }),
  },
  telegram: {
    config: nothing,
    credentials: z.strictObject({
      bot_token: providedSecret.describe('From @BotFather'),
      secret_token: z
        .string()
        .regex(/^[A-Za-z0-9_-]{16,256}$/, 'must be 16 to 256 of A–Z, a–z, 0–9, _ and -')
        .describe('The `secret_token` of `setWebhook`'),
    }),
  },
  slack: {
    config: nothing,
    credentials: z.strictObject({
      bot_token: providedSecret.describe('Bot token of the installed app: `xoxb-…`'),
      signing_secret: providedSecret.describe('Signing secret of the app, under Basic Information'),
    }),
  },
  zalo_oa: {
    config: z.strictObject({
      app_id: z
        .string()
        .regex(/^\d{1,32}$/, 'must be digits')
        .describe('Id of the app at developers.zalo.me'),
      oa_id: z
        .string()
        .regex(/^\d{1,32}$/, 'must be digits')
        .optional()
        .describe('Id of the Official Account; set by the first consent if omitted'),
    }),
    credentials: z.strictObject({
      app_secret: providedSecret.describe('Secret key of the app'),
      oa_secret: providedSecret.describe('OA secret key, under Webhook'),
    }),
  },
} satisfies Record<ChannelType, { config: z.ZodObject; credentials: z.ZodObject }>;

type Shapes = typeof channelShapes;
export type ChannelConfig<Type extends ChannelType = ChannelType> = z.output<Shapes[Type]['config']>;
export type ChannelCredentials<Type extends ChannelType = ChannelType> = z.output<
  Shapes[Type]['credentials']
>;

export const channelStatus = z.enum(['pending', 'connected', 'needs_reauth', 'disabled', 'error']);
export type ChannelStatus = z.output<typeof channelStatus>;

const sentence = storableText(1, 1_000).nullable();

const replies = z.strictObject({
  failure: sentence.describe('Sent when the agent fails'),
  refusal: sentence.describe('Sent when a limit or the budget is reached, once an hour in a conversation'),
  unsupported: sentence.describe('Sent for images, files and other attachments'),
});

const defaultReplies = {
  failure: 'Sorry, something went wrong. Please try again later.',
  refusal: 'Sorry, I can’t answer at the moment. Please try again later.',
  unsupported: 'Sorry, I can only read text messages.',
};

const settings = {
  name: storableText(1, 200),
  agent_id: uuid,
  enabled: z.boolean(),
  history_tokens: z
    .int()
    .min(0)
    .max(100_000)
    .describe('Tokens of earlier conversation that the agent gets, at four characters a token'),
  replies: replies.describe('Texts that are sent in place of a response; null sends nothing'),
};

export const channelInstance = z.strictObject({
  id: uuid,
  ...settings,
  type: channelType,
  config: z
    .union([channelShapes.generic.config, channelShapes.zalo_oa.config, nothing])
    .describe('Settings of the type'),
  status: channelStatus,
  status_reason: z.string().nullable().describe('Why the channel is not connected'),
  webhook_url: z.string().describe('URL to which the provider sends messages'),
  previous_secret_expires_at: utcTime
    .nullable()
    .describe('Until then messages may prove themselves by the credentials before the last change too'),
  created_at: utcTime,
  updated_at: utcTime,
});
export type ChannelInstance = z.output<typeof channelInstance>;

/** The response to creation, the only one with a secret: of a `generic` channel. */
export const channelInstanceWithSecret = channelInstance.extend({
  secret: z.string().optional().describe('Secret of a `generic` channel. Shown only in this response'),
});

const forCreation = {
  name: settings.name,
  agent_id: settings.agent_id,
  enabled: settings.enabled.default(true),
  history_tokens: settings.history_tokens.default(4_000),
  replies: z
    .strictObject({
      failure: replies.shape.failure.default(defaultReplies.failure),
      refusal: replies.shape.refusal.default(defaultReplies.refusal),
      unsupported: replies.shape.unsupported.default(defaultReplies.unsupported),
    })
    .default(defaultReplies),
};

/** The config members of all types; the service checks them by `channelShapes`. */
const configMembers = z
  .strictObject({ ...channelShapes.generic.config.shape, ...channelShapes.zalo_oa.config.shape })
  .partial()
  .describe('`generic`: `callback_url`; `zalo_oa`: `app_id`, `oa_id`');
/** The same for a change. */
const changedConfigMembers = configMembers
  .extend({ oa_id: channelShapes.zalo_oa.config.shape.oa_id.nullable() })
  .describe(
    '`generic`: `callback_url`; `zalo_oa`: `app_id`, `oa_id`, of which null is none until the next consent',
  );
const credentialMembers = z
  .strictObject({
    ...channelShapes.generic.credentials.shape,
    ...channelShapes.telegram.credentials.shape,
    ...channelShapes.slack.credentials.shape,
    ...channelShapes.zalo_oa.credentials.shape,
  })
  .partial()
  .describe(
    '`generic`: `secret` (optional); `telegram`: `bot_token`, `secret_token`; `slack`: `bot_token`, `signing_secret`; `zalo_oa`: `app_secret`, `oa_secret`. Never shown',
  );

export const createChannelInstance = z.strictObject({
  type: channelType,
  ...forCreation,
  config: configMembers.default(() => ({})),
  credentials: credentialMembers.default(() => ({})),
});
export type CreateChannelInstance = z.output<typeof createChannelInstance>;

/** Omitted members of `replies`, `config` and `credentials` are kept. */
export const patchChannelInstance = z
  .strictObject({
    ...settings,
    replies: replies.partial(),
    config: changedConfigMembers,
    credentials: credentialMembers,
    overlap_seconds: overlapSeconds.describe(
      'Seconds for which messages may prove themselves by the old credentials too, and replies of a `generic` channel are signed by both secrets. If it is left out, the old credentials prove nothing from now on, and both secrets sign for a day. Without new credentials it shortens that time, and 0 ends it',
    ),
  })
  .partial();
export type PatchChannelInstance = z.output<typeof patchChannelInstance>;

export const listChannelInstances = z.strictObject({ ...page, type: channelType.optional() });
export const channelInstanceList = listOf(channelInstance);

export const instanceExample = {
  id: '0198c2d5-7b2c-7d49-a2e5-4d7f9a2b3c87',
  name: 'Support',
  agent_id: '0198c2b1-3c4d-7e5f-8a9b-0c1d2e3f4a5b',
  type: 'generic',
  enabled: true,
  history_tokens: 4_000,
  replies: defaultReplies,
  config: { callback_url: 'https://chat.example.com/replies' },
  status: 'connected',
  status_reason: null,
  webhook_url: 'https://gateway.example.com/v1/webhooks/message?channel=0198c2d5-7b2c-7d49-a2e5-4d7f9a2b3c87',
  previous_secret_expires_at: null,
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
};
const { id, name, agent_id, type, config } = instanceExample;
const params = { id };

const reads = routesWith({ service: 'webhook', access: scope('channels.read') });
const writes = routesWith({ service: 'webhook', access: scope('channels.write') });

export const routes: readonly Route[] = [
  reads('channels.instances.list', 'GET /v1/channels/instances', {
    query: listChannelInstances,
    response: ok(channelInstanceList),
    summary: 'List the channels of the tenant',
    examples: pageExample('The newest channel', instanceExample),
  }),
  writes('channels.instances.create', 'POST /v1/channels/instances', {
    idempotencyKey: true,
    body: createChannelInstance,
    response: created(channelInstanceWithSecret),
    nullInDryRun: ['id', 'secret', 'webhook_url'],
    summary: 'Connect a channel to an agent; its credentials are never shown again',
    examples: {
      generic: {
        summary: 'Any system that sends and receives Standard Webhooks',
        body: { name, agent_id, type, config },
        response: { ...instanceExample, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
      },
      zalo: {
        summary: 'A Zalo Official Account, which then needs a consent',
        body: {
          ...{ name, agent_id, type: 'zalo_oa', config: { app_id: '1234567890' } },
          credentials: { app_secret: 'app-secret-key', oa_secret: 'oa-secret-key' },
        },
        response: {
          ...instanceExample,
          type: 'zalo_oa',
          config: { app_id: '1234567890' },
          status: 'pending',
        },
      },
    },
  }),
  reads('channels.instances.get', 'GET /v1/channels/instances/{id}', {
    response: ok(channelInstance),
    summary: 'Get a channel',
    examples: { channel: { summary: 'A channel', params, response: instanceExample } },
  }),
  writes('channels.instances.patch', 'PATCH /v1/channels/instances/{id}', {
    body: patchChannelInstance,
    response: ok(channelInstance),
    summary: 'Change a channel',
    examples: {
      disable: {
        summary: 'Take no messages any more',
        params,
        body: { enabled: false },
        response: { ...instanceExample, enabled: false, status: 'disabled' },
      },
      secret: {
        summary: 'A new secret of a generic channel, and both for an hour',
        params,
        body: { credentials: { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }, overlap_seconds: 3_600 },
        response: { ...instanceExample, previous_secret_expires_at: '2026-01-10T10:00:00.000Z' },
      },
    },
  }),
  writes('channels.instances.delete', 'DELETE /v1/channels/instances/{id}', {
    response: noContent,
    summary: 'Delete a channel with its conversations',
    examples: { channel: { summary: 'A channel', params } },
  }),
];
