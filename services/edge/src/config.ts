import { addresses, commonSettings, parseConfig } from '@gatehouse/kit/config';
import { z } from 'zod';

const settings = z.object({
  ...commonSettings,
  TENANT_GRPC: addresses,
  TENANT_HTTP: addresses,
  AGENT_HTTP: addresses,
  CHAT_HTTP: addresses,
  ANALYTICS_HTTP: addresses,
});

export type EdgeConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): EdgeConfig {
  return parseConfig(settings, environment);
}
