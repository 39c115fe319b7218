import path from 'node:path';
import { kafkaSettings } from '@gatehouse/events/settings';
import { addresses, parseConfig } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { grpcSettings, serviceSettings } from '@gatehouse/shell/settings';
import { z } from 'zod';
import { loadCatalogue } from './catalogue/catalogue-file.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import { secretsOf } from './catalogue/provider-schema.ts';

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
  /** Values of the variables with secrets that the catalogue names; undefined where one is unset. */
  readonly providerSecrets: Readonly<Record<string, string | undefined>>;
}

/** Reads the settings, the catalogue file and the secrets that it names. */
export async function loadConfig(environment: Record<string, string | undefined>): Promise<ChatConfig> {
  const config = parseConfig(settings, environment);
  const catalogue = await loadCatalogue(config.GATEHOUSE_MODELS, environment);
  const secrets = catalogue.providers.flatMap(secretsOf).map((named) => [named, environment[named]]);
  return Object.freeze({
    ...config,
    catalogue,
    providerSecrets: Object.fromEntries(secrets) as Record<string, string | undefined>,
  });
}

export const migrations = path.join(import.meta.dirname, '../migrations');
