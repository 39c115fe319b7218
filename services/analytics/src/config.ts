import path from 'node:path';
import { kafkaSettings } from '@gatehouse/events/settings';
import { addresses, parseConfig } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import { grpcSettings, serviceSettings } from '@gatehouse/shell/settings';
import { z } from 'zod';

const settings = z.object({
  ...serviceSettings,
  ...grpcSettings,
  ...databaseSettings,
  AGENT_GRPC: addresses,
  TENANT_GRPC: addresses,
  ...kafkaSettings,
});

export type AnalyticsConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): AnalyticsConfig {
  return parseConfig(settings, environment);
}

export const migrations = path.join(import.meta.dirname, '../migrations');
