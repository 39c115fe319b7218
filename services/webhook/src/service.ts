import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { EventIntake } from '@gatehouse/events/intake';
import { rpcService } from '@gatehouse/grpc/rpc';
import { BodyBudget } from '@gatehouse/http/body-budget';
import { anonymousBudget as anonymousBudgetOf } from '@gatehouse/http/body-share';
import { batchedFinder } from '@gatehouse/kit/batched';
import { JobWorker } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import { Refusals } from '@gatehouse/keyless/refusals';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { TransferParticipantServiceService } from '@gatehouse/proto/transfer/v1/transfer';
import { withTenant } from '@gatehouse/pg/pool';
import { WebhookServiceService } from '@gatehouse/proto/webhook/v1/webhook';
import { resealing } from '@gatehouse/secrets/resealing';
import { runStep } from '@gatehouse/transfers/run-step';
import { transferUpkeep } from '@gatehouse/transfers/upkeep';
import { createPools, forTenants } from '@gatehouse/service/pools';
import { publishedChanges } from '@gatehouse/service/published-changes';
import type { Service } from '@gatehouse/service/service';
import { Shell, type ShellOverrides } from '@gatehouse/service/shell';
import { CallTexts } from './calls/call-texts.ts';
import { Claims } from './calls/claims.ts';
import { QueueRoom } from './shared/queue-room.ts';
import { SyncCalls } from './calls/sync-calls-request.ts';
import { channelParts } from './channel-parts.ts';
import { migrations, type WebhookConfig } from './config.ts';
import { Alerts, readAlert } from './subscriptions/event-queue.ts';
import { consumeAlerts } from './subscriptions/event-topic.ts';
import { deliveryMetrics } from './deliveries/delivery-metrics.ts';
import { Hops } from './deliveries/hops.ts';
import { Messages } from './deliveries/messages.ts';
import { DeliveryOutbox } from './deliveries/delivery-queue.ts';
import { callHandlers } from './calls/call-handlers.ts';
import { endpointHandlers } from './endpoints/endpoint-handlers.ts';
import { deliveryHandlers } from './calls/llm-handlers.ts';
import { subscriptionHandlers } from './subscriptions/subscription-handlers.ts';
import type { SealedEndpoint } from './endpoints/endpoint.ts';
import { Gate } from './endpoints/endpoint-gate.ts';
import { Patience } from './calls/patience.ts';
import { deliver } from './deliveries/deliver-job.ts';
import { runCall } from './calls/run-call-job.ts';
import { tasks } from './tasks.ts';
import { upkeep } from './upkeep.ts';
import { AgentClient } from './peers/agent-peer.ts';
import { CompletionClient } from './peers/completion-peer.ts';
import { TenantClient } from './peers/tenant-peer.ts';
import { Templates } from './templates/templates.ts';
import { describeTransfer } from './transfers/describe-transfer-rpc.ts';
import { forgetUser } from './forgetting/forget-user-rpc.ts';
import { notify } from './subscriptions/notify-rpc.ts';
import { webhookSecretsToReseal } from './secrets/reseal.ts';
import { WebhookSecrets } from './secrets/webhook-secrets.ts';
import { CallStore } from './calls/call-store.ts';
import { prolongClaims } from './calls/call-system-store.ts';
import { DeliveryStore } from './deliveries/delivery-store.ts';
import { EndpointStore } from './endpoints/endpoint-store.ts';
import { findSealedEndpoints } from './endpoints/endpoint-system-store.ts';
import { insertDeadLetter } from './subscriptions/event-system-store.ts';
import { SubscriptionStore } from './subscriptions/subscription-store.ts';
import { TransferStore } from './transfers/transfer-store.ts';
import { Moves } from './transfers/moves-store.ts';
import { WebhookSteps } from './transfers/webhook-steps-rpc.ts';

/** The webhook service: what triggers agents from outside, webhooks and channels. Opens nothing before `start`. */
export async function createWebhookService(
  config: WebhookConfig,
  overrides: ShellOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('webhook', config, overrides);
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const { app, system, gate } = createPools(shell, {
    url,
    migrations,
    pools: {
      app: { role: 'webhook_app', max: forTenants(max) },
      system: { role: 'webhook_system', max: Math.ceil(max / 2) },
      // Work for requests without a key, apart from all other work.
      gate: { role: 'webhook_system', max: Math.ceil(max / 5) },
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
  const hops = new Hops(config.SECRETS_KEYRING);
  const completions = new CompletionClient(chat, shell.signer);
  const claims = new Claims({ prolong: (ids, seconds) => prolongClaims(system, ids, seconds), log });
  const refusals = new Refusals({ service: 'webhook', system: gate, log });
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
  const allowToken = config.WEBHOOK_ALLOW_TOKEN;
  const anonymousBudget = anonymousBudgetOf(shell.registry);
  // An eighth, so that it takes more than a few tenants to fill it.
  const bodyBudget = new BodyBudget({
    perTenant: config.BODY_BYTES_PER_PROCESS / 8,
    perProcess: config.BODY_BYTES_PER_PROCESS,
  });
  const findEndpoint = batchedFinder(
    (ids) => findSealedEndpoints(gate, ids),
    ({ id }: SealedEndpoint) => id,
  );
  const channels = channelParts(shell, {
    ...{ config, app, gate, jobs, alerts, changes, secrets, agents, completions, tenants, refusals },
    ...{ egress, guard, hops, anonymousBudget, bodyBudget },
  });
  const { messages, conversations, tokenJobs, texts: channelTexts } = channels;
  const moves = new Moves({ secrets, callTexts: texts, channelTexts, jobs, conversations, log });
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
        ...channels.handlers,
      },
      rawHandlers: {
        ...channels.rawHandlers,
        ...deliveryHandlers({
          findEndpoint,
          gate: new Gate({ secrets, refusals, allowToken, log }),
          guard,
          tenants,
          calls,
          claims,
          texts,
          hops,
          sync: new SyncCalls({ calls, claims, texts, completions }),
          queue: async (db, { tenantId, id }) => {
            await jobs.add(db, { task: 'run_call', tenantId, ids: { callId: id }, key: id });
          },
          patience: new Patience(),
          room: new QueueRoom('deliveries', (tenantId, count) => calls.hasQueued(tenantId, count)),
          templates,
          ...{ anonymousBudget, bodyBudget },
        }),
      },
      idempotency,
    }),
    rpcs: [
      rpcService(WebhookServiceService, {
        forgetUser: forgetUser(app, calls, messages),
        notify: notify(intake),
      }),
      rpcService(TransferParticipantServiceService, {
        describe: describeTransfer(new TransferStore(app)),
        runStep: runStep({ service: 'webhook', app, steps: new WebhookSteps(secrets, moves).steps }),
      }),
    ],
    parts: [
      idempotency,
      transferUpkeep('webhook', { system, log }),
      { stop: () => templates.stop() },
      egress,
      ...channels.parts,
      claims,
      refusals,
      resealing(webhookSecretsToReseal({ app, system }, secrets, log)),
      ...upkeep({ app, system, calls, outbox, conversations, tokenJobs, tenants, log }),
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
          ...channels.jobHandlers,
          deliver: deliver({
            deliveries,
            messages: new Messages({ calls, texts, secrets }),
            hops,
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
