import { innerServices, type InnerServiceName } from '@gatehouse/contract/services';
import { filesOf } from '@gatehouse/kit/certificate-files';
import { addresses, parseConfig, wrongSettings } from '@gatehouse/kit/config';
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
  ANALYTICS_GRPC: addresses,
  TENANT_GRPC: addresses,
  ...upstreamSettings,
  /** Proxies in front of the edge, with trusted `X-Forwarded-For` for the client's address. */
  TRUSTED_PROXIES: proxies,
  /** Origins with pages allowed to call the API from a browser (CORS); empty by default. */
  CORS_ORIGINS: origins,
  /** Files with the certificate, its chain included, and its private key, for https on `HTTP_PORT`. */
  TLS_CERT: z.string().default(''),
  TLS_KEY: z.string().default(''),
});

export type EdgeConfig = Readonly<z.output<typeof settings>>;

export function loadConfig(environment: Record<string, string | undefined>): EdgeConfig {
  const config = parseConfig(settings, environment);
  if (tlsFiles(config) !== undefined && config.PUBLIC_URL.startsWith('http:'))
    throw wrongSettings(['PUBLIC_URL: must be https, because TLS_CERT and TLS_KEY are set']);
  return config;
}

/** The files for TLS; undefined without TLS. Throws a `ConfigError` if only one of them is set. */
export function tlsFiles({ TLS_CERT, TLS_KEY }: Pick<EdgeConfig, 'TLS_CERT' | 'TLS_KEY'>) {
  const files = filesOf({ TLS_CERT, TLS_KEY });
  return files && { cert: files.TLS_CERT, key: files.TLS_KEY };
}

/** Addresses of the replicas of a service: `host:port` each, or `dns:///name:port`. */
export function upstreamAddresses(config: EdgeConfig, service: InnerServiceName): readonly string[] {
  return config[upstreamSetting(service)];
}
