import path from 'node:path';
import { egressSettings } from '@gatehouse/egress/settings';
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
  ...egressSettings,
  ...publicUrlSettings,
  CHAT_GRPC: addresses,
  MEMORY_GRPC: addresses,
  TENANT_GRPC: addresses,
  WEBHOOK_GRPC: addresses,
  ...kafkaSettings,
});

export type AgentConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): AgentConfig {
  return parseConfig(settings, environment);
}

export const migrations = path.join(import.meta.dirname, '../migrations');
