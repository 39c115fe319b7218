import { AllowList } from '@gatehouse/egress/allow-list';
import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { EventIntake } from '@gatehouse/events/intake';
import { rpcService } from '@gatehouse/grpc/server';
import { anonymousBodyBudget } from '@gatehouse/http/body-share';
import { JobWorker } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { withTenant } from '@gatehouse/pg/pool';
import { WebhookServiceService } from '@gatehouse/proto/webhook/v1/webhook';
import { createPools } from '@gatehouse/service/pools';
import { publishedChanges } from '@gatehouse/service/published-changes';
import type { Service } from '@gatehouse/service/service';
import { Shell, type ShellOverrides } from '@gatehouse/service/shell';
import { CallTexts } from './calls/call-texts.ts';
import { Claims } from './calls/claims.ts';
import { QueueRoom } from './calls/queue-room.ts';
import { SyncCalls } from './calls/sync-calls.ts';
import { migrations, type WebhookConfig } from './config.ts';
import { Alerts, readAlert } from './alerts/alerts.ts';
import { consumeAlerts } from './alerts/alert-topic.ts';
import type { Ways } from './channels/adapter.ts';
import { channelAdapters } from './channels/adapters.ts';
import { ChannelCheck } from './channels/channel-check.ts';
import { ChannelGate } from './channels/channel-gate.ts';
import { ChannelHealth } from './channels/channel-health.ts';
import { ChannelTexts } from './channels/channel-texts.ts';
import { ConversationQueue } from './channels/conversation-queue.ts';
import { OpenChannels } from './channels/open-channels.ts';
import { ReplyWriter } from './channels/reply-writer.ts';
import { deliveryMetrics } from './deliveries/delivery-metrics.ts';
import { Messages } from './deliveries/messages.ts';
import { DeliveryOutbox } from './deliveries/outbox.ts';
import { callHandlers } from './http/calls.ts';
import { channelHandlers } from './http/channels.ts';
import { conversationHandlers } from './http/conversations.ts';
import { endpointHandlers } from './http/endpoints.ts';
import { deliveryHandlers } from './http/llm.ts';
import { messageHandlers } from './http/messages.ts';
import { subscriptionHandlers } from './http/subscriptions.ts';
import { Gate } from './inbound/gate.ts';
import { Refusals } from './inbound/refusals.ts';
import { checkChannel } from './jobs/check-channel.ts';
import { converse } from './jobs/converse.ts';
import { deliver } from './jobs/deliver.ts';
import { runCall } from './jobs/run-call.ts';
import { sendReplies } from './jobs/send-replies.ts';
import { tasks } from './jobs/tasks.ts';
import { upkeep } from './jobs/upkeep.ts';
import { AgentClient } from './peers/agents.ts';
import { CompletionClient } from './peers/completions.ts';
import { TenantClient } from './peers/tenants.ts';
import { Templates } from './templates/templates.ts';
import { forgetUser } from './rpc/forget-user.ts';
import { notify } from './rpc/notify.ts';
import { resealing } from './secrets/reseal.ts';
import { WebhookSecrets } from './secrets/webhook-secrets.ts';
import { CallStore } from './store/call-store.ts';
import { ChannelStore } from './store/channel-store.ts';
import { findSealedChannel } from './store/channel-system-store.ts';
import { MessageStore } from './store/message-store.ts';
import { ReplyStore } from './store/reply-store.ts';
import { TurnStore } from './store/turn-store.ts';
import { prolongClaims } from './store/call-system-store.ts';
import { DeliveryStore } from './store/delivery-store.ts';
import { EndpointStore } from './store/endpoint-store.ts';
import { findSealedEndpoint } from './store/endpoint-system-store.ts';
import { insertDeadLetter } from './store/event-system-store.ts';
import { SubscriptionStore } from './store/subscription-store.ts';
import { countRefusal, deleteOldRefusals } from './store/refusal-system-store.ts';

/** The webhook service: endpoints for webhooks that trigger agents. Opens nothing before `start`. */
export async function createWebhookService(
  config: WebhookConfig,
  overrides: ShellOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('webhook', config, overrides);
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const { app, system } = createPools(shell, {
    url,
    migrations,
    pools: {
      app: { role: 'webhook_app', max },
      system: { role: 'webhook_system', max: Math.ceil(max / 2) },
    },
  });
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const changes = publishedChanges(shell, { config, app, system, tenant });
  const { idempotency } = changes;
  const { log } = shell;
  const guard = new Guard(config.EGRESS_ALLOW);
  const secrets = new WebhookSecrets(config.SECRETS_KEYRING);
  const endpoints = new EndpointStore(app);
  const calls = new CallStore(app);
  const texts = new CallTexts(config.SECRETS_KEYRING);
  const completions = new CompletionClient(chat, shell.signer);
  const claims = new Claims({ prolong: (ids, seconds) => prolongClaims(system, ids, seconds), log });
  const refusals = new Refusals({
    count: (address) => countRefusal(system, address),
    deleteOld: (limit) => deleteOldRefusals(system, limit),
    log,
  });
  const jobs = new Jobs({ service: 'webhook', tasks, system, log });
  const templates = new Templates();
  const deliveries = new DeliveryStore(app);
  const outbox = new DeliveryOutbox(jobs);
  const tenants = new TenantClient(tenant);
  const alerts = new Alerts({ pool: app, outbox, log });
  const intake = new EventIntake({
    read: readAlert,
    store: (some) => alerts.take(some),
    keep: (letter) => insertDeadLetter(system, letter),
    log,
    registry: shell.registry,
  });
  consumeAlerts(shell, config, intake);
  const egress = new Egress({ guard });
  const agents = new AgentClient(agent);
  const adapters = channelAdapters({ telegram: config.TELEGRAM_API_URL, slack: config.SLACK_API_URL });
  const providerHosts = [config.TELEGRAM_API_URL, config.SLACK_API_URL].map((text) => new URL(text).hostname);
  const providers = new Egress({ guard: new Guard(new AllowList(providerHosts)) });
  const ways: Ways = {
    tenant: (request) => egress.request(request),
    provider: (request) => providers.request(request),
  };
  const channelStore = new ChannelStore(app);
  const channels = new OpenChannels({ store: channelStore, secrets, adapters });
  const health = new ChannelHealth({ store: channelStore, alerts, log });
  const messages = new MessageStore(app);
  const channelTexts = new ChannelTexts(config.SECRETS_KEYRING);
  const writer = new ReplyWriter(log);
  const conversations = new ConversationQueue(jobs);
  const allowToken = config.WEBHOOK_ALLOW_TOKEN;
  const bodyBudget = anonymousBodyBudget();
  return shell.createService({
    handler: shell.createApp({
      handlers: {
        ...endpointHandlers({
          endpoints,
          agents,
          guard,
          secrets,
          templates,
          changes,
          allowToken,
        }),
        ...callHandlers({ endpoints, calls, texts, deliveries, outbox, changes }),
        ...subscriptionHandlers({
          subscriptions: new SubscriptionStore(app),
          ...{ alerts, outbox, guard, secrets, changes },
        }),
        ...channelHandlers({
          channels: channelStore,
          check: new ChannelCheck(adapters, jobs),
          publicUrl: config.PUBLIC_URL,
          ...{ agents, guard, secrets, changes },
        }),
        ...conversationHandlers({ channels: channelStore, messages, texts: channelTexts }),
      },
      rawHandlers: {
        ...messageHandlers({
          findChannel: (id) => findSealedChannel(system, id),
          gate: new ChannelGate({ adapters, secrets, refusals, log }),
          texts: channelTexts,
          room: new QueueRoom('messages', (tenantId, count) => messages.hasWaiting(tenantId, count)),
          queue: (db, conversation) => conversations.answer(db, conversation),
          ...{ adapters, tenants, messages, bodyBudget },
        }),
        ...deliveryHandlers({
          findEndpoint: (id) => findSealedEndpoint(system, id),
          gate: new Gate({ secrets, refusals, allowToken, log }),
          guard,
          tenants,
          calls,
          claims,
          texts,
          sync: new SyncCalls({ calls, claims, texts, completions }),
          queue: async (db, { tenantId, id }) => {
            await jobs.add(db, { task: 'run_call', tenantId, ids: { callId: id }, key: id });
          },
          room: new QueueRoom('deliveries', (tenantId, count) => calls.hasQueued(tenantId, count)),
          templates,
          bodyBudget,
        }),
      },
      idempotency,
    }),
    rpcs: [
      rpcService(WebhookServiceService, { forgetUser: forgetUser(calls, messages), notify: notify(intake) }),
    ],
    parts: [
      idempotency,
      { stop: () => templates.stop() },
      { stop: () => writer.stop() },
      egress,
      providers,
      claims,
      refusals,
      resealing({ app, system }, secrets, log),
      ...upkeep({ app, system, calls, outbox, conversations, log }),
      new JobWorker({
        jobs,
        handlers: {
          run_call: runCall({
            calls,
            texts,
            completions,
            notify: async (db, call) => {
              await outbox.addResult(db, call);
            },
          }),
          converse: converse({
            channels,
            turns: new TurnStore(app),
            texts: channelTexts,
            send: (db, conversation) => conversations.send(db, conversation),
            ...{ adapters, writer, completions, tenants, ways },
          }),
          send_replies: sendReplies({
            replies: new ReplyStore(app),
            texts: channelTexts,
            later: (conversation, at) =>
              withTenant(app, conversation.tenantId, (db) => conversations.send(db, conversation, at)),
            ...{ channels, health, tenants, ways },
          }),
          check_channel: checkChannel({
            wake: (channel) => messages.wake(channel, (db, some) => conversations.resume(db, some)),
            ...{ channels, health, ways },
          }),
          deliver: deliver({
            deliveries,
            messages: new Messages({ calls, texts, secrets }),
            ...{ egress, outbox, alerts },
            metrics: deliveryMetrics(shell.registry),
            within: (tenantId, work) => withTenant(app, tenantId, work),
            isActive: (tenantId) => tenants.isActive(tenantId),
          }),
        },
        log,
        registry: shell.registry,
        drainTimeoutMs: config.DRAIN_TIMEOUT_MS,
      }),
    ],
  });
}
