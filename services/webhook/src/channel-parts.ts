import { AllowList } from '@gatehouse/egress/allow-list';
import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { observeEgress } from '@gatehouse/egress/metrics';
import type { Changes } from '@gatehouse/changes/changes';
import type { AnonymousBudget } from '@gatehouse/http/anonymous-budget';
import type { BodyBudget } from '@gatehouse/http/body-budget';
import type { Jobs } from '@gatehouse/jobs/jobs';
import { batchedFinder } from '@gatehouse/kit/batched';
import { ConsentTickets } from '@gatehouse/keyless/consent-tickets';
import type { Refusals } from '@gatehouse/keyless/refusals';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/service/shell';
import type { Alerts } from './subscriptions/event-queue.ts';
import { QueueRoom } from './shared/queue-room.ts';
import type { WaysOf } from './channels/adapter.ts';
import { channelAdapters } from './channels/adapters.ts';
import { ChannelCheck } from './channels/channel-queue.ts';
import { ChannelGate } from './channels/channel-gate.ts';
import { ChannelHealth } from './channels/channel-health-store.ts';
import type { InboundChannel } from './channels/channel.ts';
import { channelMetrics } from './conversations/channel-metrics.ts';
import { ChannelTexts } from './conversations/channel-texts.ts';
import { ChannelTokens } from './channels/channel-tokens.ts';
import { ConversationQueue } from './conversations/conversation-queue.ts';
import { OpenChannels } from './channels/open-channels.ts';
import { ReplyWriter } from './conversations/reply-writer.ts';
import { TokenJobs } from './channels/token-jobs.ts';
import { ZaloAccounts } from './channels/providers/zalo-account.ts';
import { ZaloConsents } from './channels/providers/zalo-consents.ts';
import { ZaloOAuth } from './channels/providers/zalo-oauth.ts';
import type { WebhookConfig } from './config.ts';
import type { Hops } from './deliveries/hops.ts';
import { channelHandlers } from './channels/channel-handlers.ts';
import {
  consentLinkHandlers,
  consentPageHandlers,
  type ConsentDependencies,
} from './channels/consent-handlers.ts';
import { conversationHandlers } from './conversations/conversation-handlers.ts';
import { messageHandlers } from './conversations/message-handlers.ts';
import { checkChannel } from './channels/check-channel-job.ts';
import { converse } from './conversations/converse-job.ts';
import { refreshTokens } from './channels/refresh-tokens-job.ts';
import { sendReplies } from './conversations/send-replies-job.ts';
import type { tasks } from './tasks.ts';
import type { AgentClient } from './peers/agent-peer.ts';
import type { CompletionClient } from './peers/completion-peer.ts';
import type { TenantClient } from './peers/tenant-peer.ts';
import type { WebhookSecrets } from './secrets/webhook-secrets.ts';
import { ChannelStore } from './channels/channel-store.ts';
import { findSealedChannels } from './channels/channel-system-store.ts';
import { ConversationMoveStore } from './conversations/conversation-move-store.ts';
import { MessageStore } from './conversations/message-store.ts';
import { releaseClaim, ReplyStore } from './conversations/reply-store.ts';
import { TokenStore } from './channels/token-store.ts';
import { TurnStore } from './conversations/turn-store.ts';

/** The dependencies that channels share with webhooks. */
export interface ChannelPartsOptions {
  config: WebhookConfig;
  app: Pool;
  /** For requests that need no key. */
  gate: Pool;
  jobs: Jobs<typeof tasks>;
  alerts: Alerts;
  changes: Changes;
  secrets: WebhookSecrets;
  agents: AgentClient;
  completions: CompletionClient;
  tenants: TenantClient;
  refusals: Refusals;
  hops: Hops;
  /** The way out to URLs of tenants, and what guards it. */
  egress: Egress;
  guard: Guard;
  anonymousBudget: AnonymousBudget;
  bodyBudget: BodyBudget;
}

/** The half of the service that lets people write to agents: its routes, jobs and parts. */
export function channelParts({ log, registry }: Shell, options: ChannelPartsOptions) {
  const { config, app, gate, jobs, alerts, changes, secrets, tenants, completions, refusals, hops } = options;
  const { SECRETS_KEYRING: keyRing, PUBLIC_URL: publicUrl, ZALO_OAUTH_URL: zaloOAuthUrl } = config;
  const urls = {
    telegram: config.TELEGRAM_API_URL,
    slack: config.SLACK_API_URL,
    zalo: config.ZALO_API_URL,
  };
  const adapters = channelAdapters(urls, hops);
  const providerHosts = [...Object.values(urls), zaloOAuthUrl].map((text) => new URL(text).hostname);
  const providers = new Egress({ guard: new Guard(new AllowList(providerHosts)) });
  // Signs of typing may hang, and must not take the calls of replies.
  const typing = new Egress({ guard: new Guard(new AllowList(providerHosts)) });
  observeEgress(registry, { tenants: options.egress, providers, typing });
  const waysOf: WaysOf = (tenantId) => ({
    tenant: (request) => options.egress.request({ tenantId, ...request }),
    provider: (request) => providers.request({ tenantId, ...request }),
    typing: (request) => typing.request({ tenantId, ...request }),
  });
  const metrics = channelMetrics(registry);
  const store = new ChannelStore(app);
  const tokens = new ChannelTokens(secrets);
  const channels = new OpenChannels({ store, secrets, adapters, tokens });
  const health = new ChannelHealth({ store, alerts, log });
  const messages = new MessageStore(app);
  const moves = new ConversationMoveStore(app);
  const texts = new ChannelTexts(keyRing);
  const writer = new ReplyWriter(log);
  const conversations = new ConversationQueue(jobs);
  const wake = (channel: { tenantId: string; id: string }): Promise<void> =>
    messages.wake(channel, (db, some) => conversations.resume(db, some));
  const tokenStore = new TokenStore(app);
  const tokenJobs = new TokenJobs(jobs);
  const oauth = new ZaloOAuth(zaloOAuthUrl, waysOf(null));
  const tickets = new ConsentTickets({ service: 'webhook', app, system: gate, keyRing, log });
  const consentDependencies: ConsentDependencies = {
    channels: store,
    zalo: new ZaloConsents({
      origin: new URL(zaloOAuthUrl).origin,
      accounts: new ZaloAccounts(urls.zalo, waysOf(null)),
      ...{ app, store, tickets, channels, tokens, oauth, changes, wake, log },
    }),
    ...{ tickets, refusals, changes, app, publicUrl },
  };
  return {
    ...{ messages, conversations, tokenJobs, texts },
    parts: [{ stop: () => writer.stop() }, providers, typing, tickets],
    handlers: {
      ...channelHandlers({
        channels: store,
        check: new ChannelCheck(adapters, jobs),
        ...{ agents: options.agents, guard: options.guard, secrets, changes, publicUrl },
      }),
      ...consentLinkHandlers(consentDependencies),
      ...conversationHandlers({ channels: store, messages, texts }),
    },
    rawHandlers: {
      ...consentPageHandlers(consentDependencies),
      ...messageHandlers({
        findChannel: batchedFinder(
          (ids) => findSealedChannels(gate, ids),
          ({ id }: InboundChannel) => id,
        ),
        findByAccount: (tenantId, of) => store.findByAccount(tenantId, of),
        gate: new ChannelGate({ adapters, secrets, refusals, log }),
        room: new QueueRoom('messages', (tenantId, count) => messages.hasWaiting(tenantId, count)),
        resume: (db, conversation) => conversations.resume(db, [conversation]),
        queue: (db, conversation) => conversations.answer(db, conversation),
        ...{ adapters, tenants, messages, moves, texts, hops, metrics },
        ...{ anonymousBudget: options.anonymousBudget, bodyBudget: options.bodyBudget },
      }),
    },
    jobHandlers: {
      converse: converse({
        turns: new TurnStore(app),
        send: (db, conversation) => conversations.send(db, conversation),
        follow: (conversation) =>
          moves.follow(conversation, (db, target) => conversations.resume(db, [target])),
        again: (conversation) =>
          withTenant(app, conversation.tenantId, (db) => conversations.answer(db, conversation, 0)),
        ...{ adapters, channels, texts, writer, completions, tenants, waysOf, metrics },
      }),
      send_replies: sendReplies({
        renew: async (channel) => {
          if (channel.accessToken === null) return false;
          const verdict = await tokenStore.refused(channel, channel.accessToken);
          if (verdict === 'refresh')
            await withTenant(app, channel.tenantId, (db) => tokenJobs.queue(db, channel));
          return verdict !== 'lost';
        },
        replies: new ReplyStore(app),
        move: (reply, { from, to }) => {
          const { tenantId, instanceId } = reply;
          return moves.move({ tenantId, instanceId, from, to }, async (db, conversation) => {
            await releaseClaim(db, reply);
            await conversations.resume(db, [conversation]);
          });
        },
        later: (conversation, afterS) =>
          withTenant(app, conversation.tenantId, (db) => conversations.send(db, conversation, afterS)),
        ...{ channels, health, texts, tenants, waysOf, metrics },
      }),
      check_channel: checkChannel({ channels, health, tenants, waysOf, wake }),
      refresh_tokens: refreshTokens({
        store: tokenStore,
        ...{ channels, tokens, tenants, oauth, health, wake },
      }),
    },
  };
}
