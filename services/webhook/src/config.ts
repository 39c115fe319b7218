import path from 'node:path';
import { egressSettings } from '@gatehouse/egress/settings';
import { kafkaSettings } from '@gatehouse/events/settings';
import { publicUrlSettings } from '@gatehouse/keyless/settings';
import { addresses, parseConfig } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { grpcSettings, serviceSettings } from '@gatehouse/service/settings';
import { z } from 'zod';

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

/** The address of a provider's API, without a slash at its end. */
const providerUrl = (url: string) =>
  z
    .url({ protocol: /^https?$/ })
    .default(url)
    .transform(withoutSlash);

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
  /** Whether endpoints may use the scheme `token`, for senders that can't sign. */
  WEBHOOK_ALLOW_TOKEN: z
    .enum(['0', '1'])
    .default('0')
    .transform((text) => text === '1'),
  TELEGRAM_API_URL: providerUrl('https://api.telegram.org'),
  SLACK_API_URL: providerUrl('https://slack.com/api'),
  ZALO_API_URL: providerUrl('https://openapi.zalo.me'),
  ZALO_OAUTH_URL: providerUrl('https://oauth.zaloapp.com'),
  ...kafkaSettings,
});

export type WebhookConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): WebhookConfig {
  return parseConfig(settings, environment);
}

export const migrations = path.join(import.meta.dirname, '../migrations');
