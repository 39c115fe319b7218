import path from 'node:path';
import { kafkaSettings } from '@gatehouse/events/settings';
import { addresses, parseConfig } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { grpcSettings, serviceSettings } from '@gatehouse/shell/settings';
import { z } from 'zod';

const settings = z.object({
  ...serviceSettings,
  ...grpcSettings,
  ...databaseSettings,
  ...secretsSettings,
  AGENT_GRPC: addresses,
  CHAT_GRPC: addresses,
  TENANT_GRPC: addresses,
  ...kafkaSettings,
});

export type MemoryConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): MemoryConfig {
  return parseConfig(settings, environment);
}

export const migrations = path.join(import.meta.dirname, '../migrations');

/**
 * Settings of connections acting for tenants: everything is found by an index. With statistics of an empty table
 * PostgreSQL would scan and hash instead.
 */
export const indexOnly = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};
