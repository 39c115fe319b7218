import type { Shell } from '@gatehouse/shell/shell';
import type { Alerts } from '../alerts/alerts-job.ts';
import type { ChatConfig } from '../config.ts';
import { answerBudget } from './answer-metrics.ts';
import { ProviderWatch } from './provider-watch-job.ts';
import { ProviderRegistry } from './registry.ts';

export interface ProvidersOptions {
  config: ChatConfig;
  alerts: Alerts;
}

/** The providers of the catalogue, and the memory for their answers. */
export function createProviders({ registry, log }: Shell, { config, alerts }: ProvidersOptions) {
  const providers = new ProviderRegistry({
    catalogue: config.catalogue,
    secrets: config.providerSecrets,
    metrics: registry,
    log,
    onKeyFailing: (provider, key) => alerts.providerKeyFailing(provider, key),
  });
  return {
    providers,
    answers: answerBudget(registry),
    parts: [
      { stop: () => providers.close() },
      new ProviderWatch(providers, (provider, model) => alerts.providerDown(provider, model)),
    ],
  };
}
