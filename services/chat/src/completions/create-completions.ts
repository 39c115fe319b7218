import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { observeEgress } from '@gatehouse/egress/metrics';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { GuardrailCompiler } from '@gatehouse/guardrails/guardrail-compiler';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import type { Instance } from '../recording/instance-job.ts';
import { Guardrails } from '../guardrails/guardrails.ts';
import { OutsideChecks } from '../guardrails/outside/outside-checks.ts';
import type { Alerts } from '../alerts/alerts-job.ts';
import type { Peers } from '../shared/peers.ts';
import { SignatureOriginStore } from '../reasoning/signature-origin-store.ts';
import { ReasoningStore } from '../reasoning/reasoning-store.ts';
import { expiringRows } from '../shared/expiring-rows-job.ts';
import type { RecallStep } from '../memory/recall.ts';
import type { RememberQueue } from '../memory/remember-queue.ts';
import { ContentQueue } from '../run-content/content-queue-job.ts';
import { runContentHandlers } from '../run-content/run-content-handlers.ts';
import { ToolClient } from '../tools/tool-client.ts';
import { turnStages } from '../turns/turn-stages.ts';
import { complete } from './complete-rpc.ts';
import { completionHandlers, type CompletionDependencies } from './completion-handlers.ts';
import { countHandlers } from './count-handlers.ts';
import { embed } from './embed-rpc.ts';
import { guardrailTestHandlers } from './guardrail-test-handlers.ts';
import { CompletionCache } from './completion-cache.ts';
import { expiredCompletions } from './completion-system-store.ts';
import { mostContentOfTenant } from '../bounds.ts';

export interface CompletionsOptions {
  config: ChatConfig;
  app: Pool;
  system: Pool;
  instance: Instance;
  peers: Peers;
  /** Silence of a provider after which the client gets a sign of life. */
  silenceMs?: number | undefined;
  refusals: CompletionDependencies['refusals'];
  /** Dependencies of turns. */
  turns: Omit<
    CompletionDependencies,
    'stages' | 'log' | 'bodyBudget' | 'silenceMs' | 'refusals' | 'guardrails'
  >;
  alerts: Pick<Alerts, 'guardrailBlocked' | 'guardrailFailing'>;
  /** The memory of agents. */
  recall: RecallStep;
  remember: RememberQueue;
}

const mostReasoningOfTenant = { count: 200_000, bytes: 1024 * 1024 * 1024 };
/** About 60 MB with their indexes. */
const mostOriginsOfTenant = { count: 200_000, bytes: Number.MAX_SAFE_INTEGER };

/** Turns of clients, and of services. */
export function createCompletions(shell: Shell, options: CompletionsOptions) {
  const { log, registry, bodyBudget, signer } = shell;
  const { app, system, instance, peers, silenceMs, refusals, recall, remember } = options;
  const { SECRETS_KEYRING: keyRing, DRAIN_TIMEOUT_MS: drainTimeoutMs } = options.config;
  const tools = new ToolClient(peers.agent, peers.memory);
  const thoughts = new ReasoningStore({ pool: app, keyRing, log });
  const signatures = new SignatureOriginStore(app);
  // The longest delay of the stop by contents waiting for the database.
  const drainMs = Math.min(drainTimeoutMs, 5_000);
  const contents = new ContentQueue({ pool: system, keyRing, log, registry, drainMs });
  const { providers, responses, settings, catalogue, answers, limiter, pricing } = options.turns;
  const stages = turnStages({
    ...{ providers, responses, signatures, thoughts, recall, remember, tools, contents, log },
    ...{ catalogue, answers, limiter, pricing },
  });
  const { alerts } = options;
  const compiler = new GuardrailCompiler();
  const egress = new Egress({ guard: new Guard(options.config.EGRESS_ALLOW) });
  observeEgress(registry, { guardrails: egress });
  const guardrails = new Guardrails({
    ...{ registry, log, compiler, keyRing, outside: new OutsideChecks(egress) },
    onBlocked: ({ tenantId, selected: { agent } }, { guardrail, on }) =>
      alerts.guardrailBlocked({ tenantId, agentId: agent?.id ?? null, guardrail, on }),
    onFailing: ({ tenantId }, guardrail) => alerts.guardrailFailing({ tenantId, guardrail }),
  });
  const turns = { ...options.turns, stages, log, bodyBudget, guardrails, refusals };
  const completions = new CompletionCache({ app, instance, keyRing, log });
  return {
    guardrails,
    handlers: guardrailTestHandlers({ ...turns, compiler }),
    rawHandlers: {
      ...completionHandlers({ ...turns, silenceMs }),
      ...countHandlers(turns),
      ...runContentHandlers({ app, keyRing, settings }),
    },
    rpcs: { complete: complete({ ...turns, completions, signer }), embed: embed({ ...turns, signer }) },
    parts: [
      compiler,
      { stop: () => egress.stop() },
      contents,
      ...cleanUp(log, system, [expiredCompletions]),
      expiringRows({ pool: system, log, table: 'chat.thoughts', most: mostReasoningOfTenant }),
      expiringRows({ pool: system, log, table: 'chat.seals', most: mostOriginsOfTenant }),
      expiringRows({
        ...{ pool: system, log, table: 'chat.run_contents', most: mostContentOfTenant },
        retentionDays: (tenantId) => peers.retention.daysOf(tenantId),
      }),
    ],
  };
}
