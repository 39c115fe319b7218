import { usageTopic } from '@gatehouse/events/run-event';
import { isOutage } from '@gatehouse/grpc/errors';
import { rpcService } from '@gatehouse/grpc/rpc';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import { ChatServiceService } from '@gatehouse/proto/chat/v1/chat';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { WebhookServiceClient } from '@gatehouse/proto/webhook/v1/webhook';
import { publishOutbox } from '@gatehouse/service/outbox-publisher';
import { publishedAlerts } from '@gatehouse/service/published-alerts';
import { createPools } from '@gatehouse/service/pools';
import type { Service } from '@gatehouse/service/service';
import { Shell, type ShellOverrides } from '@gatehouse/service/shell';
import { migrations, type ChatConfig } from './config.ts';
import { Alerts } from './alerts/alerts-job.ts';
import { Pricing } from './catalogue/pricing.ts';
import { RunTelemetry } from './recording/run-telemetry.ts';
import { completionHandlers } from './completions/completion-handlers.ts';
import { modelHandlers } from './catalogue/model-handlers.ts';
import { Limiter } from './limits/limiter.ts';
import { Completions } from './completions/known-calls-job.ts';
import { ForgottenUsers } from './recording/forgotten-users-job.ts';
import { Instance } from './recording/instance-job.ts';
import { Reaper } from './recording/reaper-job.ts';
import { RunRecorder } from './recording/run-recorder-job.ts';
import { Settler } from './recording/settler-job.ts';
import { Vacuum } from './recording/vacuum-job.ts';
import { AgentClient } from './catalogue/agent-peer.ts';
import { LeaseClient } from './limits/lease-peer.ts';
import { MemoryClient } from './memory/memory-peer.ts';
import { ToolClient } from './tools/tool-peer.ts';
import { TenantSettingsClient } from './shared/tenant-settings-peer.ts';
import { dialects } from './dialects/dialects.ts';
import { loadTokenizer } from './usage/token-estimate.ts';
import { answerBudget } from './providers/answer-metrics.ts';
import { ProviderWatch } from './providers/provider-watch-job.ts';
import { ProviderRegistry } from './providers/registry.ts';
import { checkModels } from './catalogue/check-models-rpc.ts';
import { complete } from './completions/complete-rpc.ts';
import { countOpenRuns } from './recording/count-open-runs-rpc.ts';
import { embed } from './completions/embed-rpc.ts';
import { forgetUser } from './recording/forget-user-rpc.ts';
import { eventSource, RunOutbox } from './recording/outbox-system-store.ts';
import type { EndRow } from './recording/run-end-system-store.ts';
import { RecallStep } from './memory/recall.ts';
import { RememberQueue } from './memory/remember-queue.ts';

/** What a test may replace. */
export interface ChatOverrides extends ShellOverrides {
  /** Silence of a provider after which the client gets a comment. */
  silenceMs?: number;
  /** The most that a search in memory may delay a turn. */
  recallBudgetMs?: number;
  /** How long a deletion of a user is not complete, since runs may be written late. */
  forgetSettleMs?: number;
}

/** How long turns that wait for memory may delay the stop. */
const longestRememberMs = 5_000;

/** The chat service: completions, embeddings, models, and the record of every run. Nothing is opened before `start`. */
export async function createChatService(
  config: ChatConfig,
  { silenceMs, recallBudgetMs, forgetSettleMs, ...overrides }: ChatOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('chat', config, overrides);
  const { log, registry, tracer, bodyBudget } = shell;
  const { catalogue } = config;
  const otelMeter = await shell.createMeter();
  const { system: pool } = createPools(shell, {
    url: config.DATABASE_URL,
    migrations,
    pools: {
      system: {
        role: 'chat_system',
        max: config.DATABASE_POOL,
        // Runs are looked up by primary key only. A plan that was cached while the tables were empty would always scan
        // them. One plan fits all values; planning each time cost the database a sixth of a group.
        settings: { enable_seqscan: 'off', plan_cache_mode: 'force_generic_plan' },
      },
    },
  });
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  const analytics = shell.peer('analytics', config.ANALYTICS_GRPC, AnalyticsServiceClient);
  // Not required: agents answer without memory.
  const memory = shell.peer('memory', config.MEMORY_GRPC, MemoryServiceClient);
  shell.require('tenant', () => tenant.reached);
  shell.require('agent', () => agent.reached);
  const runOutbox = new RunOutbox();
  publishOutbox(shell, {
    source: eventSource,
    outbox: runOutbox,
    config,
    topic: usageTopic,
    watermarks: true,
    send: (events, options) => analytics.call('ingest', { source: eventSource, events }, options),
  });
  const webhook = shell.peer('webhook', config.WEBHOOK_GRPC, WebhookServiceClient);
  const published = publishedAlerts(shell, config, webhook);
  const alerts = new Alerts({ pool, raise: published.raise, log });
  const onEvents = (ends: readonly EndRow[]): void => {
    runOutbox.committed();
    if (ends.some((end) => end.alerts !== undefined && end.alerts.length > 0)) published.committed();
  };
  const instance = new Instance({ pool, url: config.DATABASE_URL, log });
  shell.connections.add(config.DATABASE_URL, 1);
  const recorder = new RunRecorder({ pool, instance, alerts, log, registry, onEvents });
  const pricing = await Pricing.create(catalogue);
  const reaper = new Reaper({ pool, instance, recorder, pricing, alerts, log, registry, onEvents });
  const countEnds = () => recorder.committedEnds;
  const vacuum = new Vacuum({ pool, countEnds, log });
  const leases = new LeaseClient(tenant);
  const limiter = new Limiter({
    leases,
    holderId: () => instance.id,
    onRefused: (tenantId, error) => alerts.refused(tenantId, error),
    registry,
  });
  const settler = new Settler({ pool, leases, instance, limiter, log, registry, countEnds });
  const settings = new TenantSettingsClient(tenant);
  const agents = new AgentClient(agent);
  const providers = new ProviderRegistry(catalogue, config.providerKeys, registry);
  const telemetry = new RunTelemetry(registry, tracer, otelMeter);
  const memories = new MemoryClient(memory);
  const remember = new RememberQueue({
    memory: memories,
    isOutage,
    log,
    registry,
    drainMs: Math.min(config.DRAIN_TIMEOUT_MS, longestRememberMs),
  });
  const completions = new Completions({ pool, instance, keyRing: config.SECRETS_KEYRING, log });
  const forgotten = new ForgottenUsers({ pool, log, settleMs: forgetSettleMs });
  const answers = answerBudget(registry);
  const turns = {
    catalogue,
    agents,
    settings,
    providers,
    answers,
    recorder,
    pricing,
    telemetry,
    limiter,
    log,
    recall: new RecallStep({ memory: memories, telemetry, budgetMs: recallBudgetMs }),
    remember,
    tools: new ToolClient(agent, memory, dialects.chat),
  };
  return shell.createService({
    handler: shell.createApp({
      handlers: modelHandlers({ catalogue, agents, settings }),
      rawHandlers: completionHandlers({
        ...turns,
        bodyBudget,
        ...(silenceMs === undefined ? {} : { silenceMs }),
      }),
    }),
    rpcs: [
      rpcService(ChatServiceService, {
        checkModels: checkModels(catalogue, settings),
        embed: embed(turns),
        complete: complete({ ...turns, completions, signer: shell.signer }),
        forgetUser: forgetUser(forgotten),
        countOpenRuns: countOpenRuns(pool),
      }),
    ],
    parts: [
      { start: loadTokenizer },
      { stop: () => providers.close() },
      alerts,
      new ProviderWatch(providers, (provider, model) => alerts.providerDown(provider, model)),
      // Connects, so that the first search does not spend its time on that.
      {
        start() {
          log.debug({ reachable: memory.reachable }, 'connecting to memory');
        },
      },
      instance,
      settler,
      remember,
      recorder,
      reaper,
      vacuum,
      completions,
      forgotten,
    ],
  });
}
