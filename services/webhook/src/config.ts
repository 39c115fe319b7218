import path from 'node:path';
import { egressSettings } from '@gatehouse/egress/settings';
import { kafkaSettings } from '@gatehouse/events/settings';
import type { JobTiming } from '@gatehouse/jobs/job-worker';
import { addresses, parseConfig } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { grpcSettings, publicUrlSettings, serviceSettings } from '@gatehouse/shell/settings';
import type { ShellOverrides } from '@gatehouse/shell/shell';
import { z } from 'zod';
import { providerSettings } from './channels/adapters.ts';

const settings = z.object({
  ...serviceSettings,
  ...grpcSettings,
  ...databaseSettings,
  ...secretsSettings,
  ...egressSettings,
  ...publicUrlSettings,
  AGENT_GRPC: addresses,
  CHAT_GRPC: addresses,
  TENANT_GRPC: addresses,
  /** Whether endpoints may use the scheme `token`, for senders without signatures. */
  WEBHOOK_ALLOW_TOKEN: z
    .enum(['0', '1'])
    .default('0')
    .transform((text) => text === '1'),
  ...providerSettings,
  ...kafkaSettings,
});

export type WebhookConfig = Readonly<z.output<typeof settings>>;

/** Settings replaceable by a test. */
export interface WebhookOverrides extends ShellOverrides {
  /** The deadline of one call to chat in a job. */
  inJobMs?: number;
  jobTiming?: Partial<JobTiming>;
  /** Until the first deletion of messages beyond the retention of their tenant. */
  messageRetentionFirstMs?: number;
}

export function loadConfig(environment: Record<string, string | undefined>): WebhookConfig {
  return parseConfig(settings, environment);
}

export const migrations = path.join(import.meta.dirname, '../migrations');
