import path from 'node:path';
import { egressSettings } from '@gatehouse/egress/settings';
import { kafkaSettings } from '@gatehouse/events/settings';
import { addresses, parseConfig } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { grpcSettings, serviceSettings } from '@gatehouse/shell/settings';
import type { ShellOverrides } from '@gatehouse/shell/shell';
import { z } from 'zod';
import type { Pace } from './batches/batch-poll-job.ts';
import { CatalogueFile, type CatalogueSecrets } from './catalogue/catalogue-file.ts';
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
  ...egressSettings,
  /** The operator's catalogue of providers and models. */
  GATEHOUSE_MODELS: z.string().min(1),
});

export interface ChatConfig extends Readonly<z.output<typeof settings>> {
  readonly catalogue: Catalogue;
  readonly providerSecrets: CatalogueSecrets;
  /** File with both of them. */
  readonly catalogueFile: CatalogueFile;
}

/** Settings of the service a test may replace: see the options of the same names. */
export interface ChatOverrides extends ShellOverrides {
  silenceMs?: number;
  recallBudgetMs?: number;
  forgetSettleMs?: number;
  countWaitMs?: number;
  catalogueEveryMs?: number;
  batchPace?: Pace;
}

/** Reads the settings, the catalogue file and the secrets named by it. */
export async function loadConfig(environment: Record<string, string | undefined>): Promise<ChatConfig> {
  const config = parseConfig(settings, environment);
  const catalogueFile = new CatalogueFile(config.GATEHOUSE_MODELS, { ...environment });
  const { catalogue, secrets: providerSecrets } = await catalogueFile.load();
  return Object.freeze({ ...config, catalogue, providerSecrets, catalogueFile });
}

export const migrations = path.join(import.meta.dirname, '../migrations');
