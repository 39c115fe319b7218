import { fileURLToPath } from 'node:url';
import { kafkaSettings } from '@gatehouse/events/settings';
import {
  addresses,
  commonSettings,
  databaseSettings,
  grpcSettings,
  parseConfig,
} from '@gatehouse/kit/config';
import { z } from 'zod';

const settings = z.object({
  ...commonSettings,
  ...grpcSettings,
  ...databaseSettings,
  TENANT_GRPC: addresses,
  ...kafkaSettings,
});

export type AnalyticsConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): AnalyticsConfig {
  return parseConfig(settings, environment);
}

export const migrationsDirectory = fileURLToPath(new URL('../migrations', import.meta.url));
