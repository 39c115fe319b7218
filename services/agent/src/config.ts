import { fileURLToPath } from 'node:url';
import { kafkaSettings } from '@gatehouse/events/settings';
import {
  addresses,
  commonSettings,
  databaseSettings,
  grpcSettings,
  parseConfig,
} from '@gatehouse/kit/config';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { z } from 'zod';

const settings = z.object({
  ...commonSettings,
  ...grpcSettings,
  ...databaseSettings,
  ...secretsSettings,
  CHAT_GRPC: addresses,
  TENANT_GRPC: addresses,
  ...kafkaSettings,
});

export type AgentConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): AgentConfig {
  return parseConfig(settings, environment);
}

export const migrationsDirectory = fileURLToPath(new URL('../migrations', import.meta.url));
