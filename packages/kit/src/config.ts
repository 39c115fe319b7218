import { z } from 'zod';
import { otlpSettings } from './otlp-settings.ts';

/** Raised when settings are wrong; its message lists every problem, one a line. */
export class ConfigError extends Error {}

/**
 * Reads a service's settings from the environment: all problems are reported at once and the result is frozen.
 * An empty or blank variable counts as unset, because that is what `NAME= command` and empty chart values mean.
 */
export function parseConfig<Shape extends z.ZodType>(
  shape: Shape,
  environment: Record<string, string | undefined>,
): Readonly<z.output<Shape>> {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''));
  const parsed = shape.safeParse(present);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw new ConfigError(`Settings are wrong:\n${problems.join('\n')}`);
}

export const port = z.coerce.number().int().min(0).max(65_535);

const bytes = z.coerce.number().int().min(1);

export const milliseconds = z.coerce.number().int().min(0);

/** `host:port` peers, a comma list or `dns:///name:port`. */
export const addresses = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )
  .refine((parts) => parts.length > 0, 'must be host:port, a comma list of them, or dns:///name:port');

/** Settings that every service has (architecture decision 16). */
export const commonSettings = {
  HOST: z.string().default('0.0.0.0'),
  HTTP_PORT: port.default(8080),
  ADMIN_PORT: port.default(9090),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  /** Wait between "not ready" and refusing connections, for load balancers to notice. */
  DRAIN_DELAY_MS: milliseconds.default(0),
  /** How long requests in flight, streams included, may take to finish on shutdown. */
  DRAIN_TIMEOUT_MS: milliseconds.default(30_000),
  /** Bytes of request bodies in memory, of one tenant and of all. Larger bodies are accepted one at a time. */
  BODY_BYTES_PER_TENANT: bytes.default(48 * 1024 * 1024),
  BODY_BYTES_PER_PROCESS: bytes.default(96 * 1024 * 1024),
  /** A connection whose client takes nothing of a waiting answer for this long is closed. */
  UNREAD_TIMEOUT_MS: milliseconds.min(1).default(60_000),
  ASSERTION_PRIVATE_KEY: z.string(),
  ASSERTION_PUBLIC_KEYS: z.string(),
  ...otlpSettings,
};

export const grpcSettings = { GRPC_PORT: port.default(9000) };

/** A password with a bare `/`, `?` or `#` ends the host's part: what is left is no URL, or has an `@` too late. */
function isWhole(url: string): boolean {
  return URL.canParse(url) && !/^[^:]*:\/\/[^/?#]*[/?#].*@/.test(url) && !/%(?![\da-f]{2})/i.test(url);
}

export const databaseSettings = {
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .refine(isWhole, 'is not a URL; escape its password (%2F for /, %23 for #, %3F for ?, %25 for %)'),
  DATABASE_POOL: z.coerce.number().int().min(1).max(200).default(10),
};
