import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Pool as DatabasePool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { Alerts } from '../alerts/alerts-job.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import type { ChatConfig } from '../config.ts';
import type { Peers } from '../shared/peers.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { checkProviderKey } from './check-provider-key-rpc.ts';
import { TenantKeyUses } from './tenant-key-uses-job.ts';
import { providerHandlers } from './provider-handlers.ts';
import { ProviderReports } from './provider-report-job.ts';
import { providerWatch } from './provider-watch-job.ts';
import { ProviderRegistry } from './registry.ts';

export interface ProvidersOptions {
  config: ChatConfig;
  alerts: Alerts;
  peers: Peers;
  settings: TenantSettingsClient;
  pricing: Pricing;
  system: DatabasePool;
  /** This replica. */
  instance: { readonly id: string };
}

/** The providers of the catalogue, and the memory for their answers. */
export function createProviders(
  { registry, log }: Shell,
  { config, alerts, system: pool, peers, settings, pricing, instance }: ProvidersOptions,
) {
  const { catalogue, SECRETS_KEYRING: keyRing } = config;
  const uses = new TenantKeyUses({ tenant: peers.tenant, log });
  const providers = new ProviderRegistry({
    catalogue,
    secrets: config.providerSecrets,
    metrics: registry,
    keyRing,
    log,
    onKeyFailing: (provider, key) => alerts.providerKeyFailing(provider, key),
    ownKeys: { note: (id, use) => uses.note(id, use) },
  });
  const reports = new ProviderReports({ registry: providers, pool, instanceId: () => instance.id, log });
  return {
    rpcs: { checkProviderKey: checkProviderKey({ catalogue, providers, settings, keyRing }) },
    providers,
    handlers: providerHandlers({ catalogue, pricing, registry: providers, reports }),
    answers: answerBudget(registry),
    parts: [
      { stop: () => providers.close() },
      uses,
      ...reports.parts,
      providerWatch(providers, (provider, model) => alerts.providerDown(provider, model), log),
    ],
  };
}

/** A single answer may have 64 MiB, and reading it takes about four times its size. */
const limits = { perTenant: 24 * 1024 * 1024, perProcess: 48 * 1024 * 1024 };

/** The budget of large answers of a process, with its metrics. */
function answerBudget(registry: Registry): AnswerBudget {
  const budget = new AnswerBudget(limits);
  const registers = [registry];
  new Gauge({
    name: 'gatehouse_answer_bytes',
    help: 'Bytes of large answers of providers in memory',
    registers,
    collect() {
      this.set(budget.bytes);
    },
  });
  new Gauge({
    name: 'gatehouse_answers_waiting',
    help: 'Large answers of providers that wait until others are delivered',
    registers,
    collect() {
      this.set(budget.waiting);
    },
  });
  return budget;
}
