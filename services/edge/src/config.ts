import { innerServices, type InnerServiceName } from '@gatehouse/contract/services';
import { addresses, parseConfig } from '@gatehouse/kit/config';
import proxyaddr from 'proxy-addr';
import { publicUrlSettings, serviceSettings } from '@gatehouse/shell/settings';
import { z } from 'zod';

const commaList = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );

const proxies = commaList.transform((list, context) => {
  try {
    return Object.assign(proxyaddr.compile(list), { count: list.length });
  } catch {
    context.addIssue({ code: 'custom', message: 'must be addresses or CIDR ranges, in a comma list' });
    return z.NEVER;
  }
});

/** Whether a text is an origin as browsers send it: scheme, host and port in lower case, without a default port. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text && !text.includes('*');
}

const origins = commaList.transform((list, context) => {
  const wrong = list.filter((part) => !isOrigin(part));
  if (wrong.length === 0) return list;
  const message = `must be exact origins such as https://app.example.com, in a comma list, without path or *: ${wrong.join(', ')}`;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

type UpstreamSetting = `${Uppercase<InnerServiceName>}_HTTP`;

function upstreamSetting(service: InnerServiceName): UpstreamSetting {
  return `${service.toUpperCase() as Uppercase<InnerServiceName>}_HTTP`;
}

/** `<SERVICE>_HTTP` of every service behind the edge. */
const upstreamSettings = Object.fromEntries(
  innerServices.map((service) => [upstreamSetting(service), addresses]),
) as Record<UpstreamSetting, typeof addresses>;

const settings = z.object({
  ...serviceSettings,
  ...publicUrlSettings,
  TENANT_GRPC: addresses,
  ...upstreamSettings,
  /** Proxies in front of the edge, with trusted `X-Forwarded-For` for the client's address. */
  TRUSTED_PROXIES: proxies,
  /** Origins with pages allowed to call the API from a browser (CORS); empty by default. */
  CORS_ORIGINS: origins,
});

export type EdgeConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): EdgeConfig {
  return parseConfig(settings, environment);
}

/** Addresses of the replicas of a service: `host:port` each, or `dns:///name:port`. */
export function upstreamAddresses(config: EdgeConfig, service: InnerServiceName): readonly string[] {
  return config[upstreamSetting(service)];
}
