import path from 'node:path';
import { kafkaSettings } from '@gatehouse/events/settings';
import { addresses, parseConfig } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { grpcSettings, publicUrlSettings, serviceSettings } from '@gatehouse/shell/settings';
import { z } from 'zod';

const settings = z.object({
  ...serviceSettings,
  ...grpcSettings,
  ...databaseSettings,
  ...secretsSettings,
  ...publicUrlSettings,
  ANALYTICS_GRPC: addresses,
  CHAT_GRPC: addresses,
  MEMORY_GRPC: addresses,
  WEBHOOK_GRPC: addresses,
  AGENT_GRPC: addresses,
  ...kafkaSettings,
});

export type TenantConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): TenantConfig {
  return parseConfig(settings, environment);
}

const bootstrapSettings = z.object({ DATABASE_URL: databaseSettings.DATABASE_URL, ...kafkaSettings });

/** Settings of the command that creates the first owner key. */
export function loadBootstrapConfig(
  environment: Record<string, string | undefined>,
): Readonly<z.output<typeof bootstrapSettings>> {
  return parseConfig(bootstrapSettings, environment);
}

export const migrations = path.join(import.meta.dirname, '../migrations');
