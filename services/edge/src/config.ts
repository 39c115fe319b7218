import { addresses, commonSettings, parseConfig } from '@gatehouse/kit/config';
import proxyaddr from 'proxy-addr';
import { z } from 'zod';

const proxies = z
  .string()
  .default('')
  .transform((text, context) => {
    const list = text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    try {
      return proxyaddr.compile(list);
    } catch {
      context.addIssue({ code: 'custom', message: 'must be addresses or CIDR ranges, in a comma list' });
      return z.NEVER;
    }
  });

const settings = z.object({
  ...commonSettings,
  TENANT_GRPC: addresses,
  TENANT_HTTP: addresses,
  AGENT_HTTP: addresses,
  CHAT_HTTP: addresses,
  ANALYTICS_HTTP: addresses,
  /** Proxies in front of the edge: their word on the client's address (`X-Forwarded-For`) is believed. */
  TRUSTED_PROXIES: proxies,
});

export type EdgeConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): EdgeConfig {
  return parseConfig(settings, environment);
}
