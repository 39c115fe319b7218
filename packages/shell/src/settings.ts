import { CertificateFiles, filesOf } from '@gatehouse/kit/certificate-files';
import { milliseconds, port } from '@gatehouse/kit/config';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import { otlpSettings } from '@gatehouse/kit/otlp-settings';
import { z } from 'zod';

const bytes = z.coerce.number().int().min(1);

/** Settings of every service. */
export const serviceSettings = {
  HOST: z.string().default('0.0.0.0'),
  HTTP_PORT: port.default(8080),
  ADMIN_PORT: port.default(9090),
  /** The address of the admin port, which clients never need. Default: `HOST`. */
  ADMIN_HOST: z.string().optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  /** Time between "not ready" and rejecting connections, for load balancers to notice. */
  DRAIN_DELAY_MS: milliseconds.default(0),
  /** How long requests in flight, including streams, may take to finish during a stop. */
  DRAIN_TIMEOUT_MS: milliseconds.default(30_000),
  /**
   * Limits of request body bytes in memory, for one tenant and for all. Larger bodies are accepted one at a time. A tenant
   * has no more than is free, so half of the second at most.
   */
  BODY_BYTES_PER_TENANT: bytes.default(48 * 1024 * 1024),
  BODY_BYTES_PER_PROCESS: bytes.default(96 * 1024 * 1024),
  /** A connection is closed when its client reads nothing of a pending response for this long. */
  UNREAD_TIMEOUT_MS: milliseconds.min(1).default(60_000),
  /** Files for TLS between services, where both sides show a certificate with their name; set together. */
  INTERNAL_TLS_CA: z.string().default(''),
  INTERNAL_TLS_CERT: z.string().default(''),
  INTERNAL_TLS_KEY: z.string().default(''),
  ASSERTION_PRIVATE_KEY: z.string(),
  ASSERTION_PUBLIC_KEYS: z.string(),
  ...otlpSettings,
};

export type ServiceConfig = Readonly<z.output<z.ZodObject<typeof serviceSettings>>>;

/** The certificate for connections between services, in the files of its settings; undefined without. */
export function internalCertificate(
  config: ServiceConfig,
  log: Logger,
  registry: Registry,
): CertificateFiles | undefined {
  const { INTERNAL_TLS_CA, INTERNAL_TLS_CERT, INTERNAL_TLS_KEY } = config;
  const files = filesOf({ INTERNAL_TLS_CA, INTERNAL_TLS_CERT, INTERNAL_TLS_KEY });
  if (files === undefined) return undefined;
  const { INTERNAL_TLS_CA: ca, INTERNAL_TLS_CERT: cert, INTERNAL_TLS_KEY: key } = files;
  return new CertificateFiles({ ca, cert, key, log, registry });
}

/** Settings of a service with a gRPC server. */
export const grpcSettings = { GRPC_PORT: port.default(9000) };

/** Browsers keep the cookie of a consent for https only, and on this machine. */
const isPublic = (text: string): boolean =>
  text === '' || /^(https:\/\/[^/]|http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$))/.test(text);

/** Settings of a service with URLs of the gateway in its responses. */
export const publicUrlSettings = {
  /**
   * The address at which clients reach the gateway. Without it, URLs begin with their path, and no consent is possible.
   */
  PUBLIC_URL: z
    .string()
    .default('')
    .refine(isPublic, 'must be https, or http on this machine')
    .transform((url) => url.replace(/\/+$/, '')),
};
