import path from 'node:path';
import { kafkaSettings } from '@gatehouse/events/settings';
import { addresses, parseConfig } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { grpcSettings, serviceSettings } from '@gatehouse/shell/settings';
import { z } from 'zod';
import { loadCatalogue } from './catalogue/catalogue-file.ts';
import type { Catalogue } from './catalogue/catalogue.ts';

const settings = z.object({
  ...serviceSettings,
  ...grpcSettings,
  ...databaseSettings,
  ...secretsSettings,
  TENANT_GRPC: addresses,
  WEBHOOK_GRPC: addresses,
  AGENT_GRPC: addresses,
  ANALYTICS_GRPC: addresses,
  MEMORY_GRPC: addresses,
  ...kafkaSettings,
  /** The operator's catalogue of providers and models. */
  GATEHOUSE_MODELS: z.string().min(1),
});

export interface ChatConfig extends Readonly<z.output<typeof settings>> {
  readonly catalogue: Catalogue;
  /** API keys by provider name; undefined where the catalogue names none or its variable is unset. */
  readonly providerKeys: Readonly<Record<string, string | undefined>>;
}

/** Reads the settings, the catalogue file and the providers' keys that it names. */
export async function loadConfig(environment: Record<string, string | undefined>): Promise<ChatConfig> {
  const config = parseConfig(settings, environment);
  const catalogue = await loadCatalogue(config.GATEHOUSE_MODELS, environment);
  const keys = catalogue.providers.map((provider) => [
    provider.name,
    provider.api_key_env === undefined ? undefined : environment[provider.api_key_env],
  ]);
  return Object.freeze({
    ...config,
    catalogue,
    providerKeys: Object.fromEntries(keys) as Record<string, string | undefined>,
  });
}

export const migrations = path.join(import.meta.dirname, '../migrations');
