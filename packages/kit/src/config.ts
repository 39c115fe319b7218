import { z } from 'zod';

/** Invalid settings; the message lists every problem on its own line. */
export class ConfigError extends Error {}

/**
 * Parses settings from the environment. Reports all problems at once, and returns a frozen object. An empty or blank
 * variable counts as unset, because that is what `NAME= command` and empty chart values mean.
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

export const milliseconds = z.coerce.number().int().min(0);

/** Addresses of a peer: a list of `host:port`, or `dns:///name:port`. */
export const addresses = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )
  .refine((parts) => parts.length > 0, 'must be host:port, a comma list of them, or dns:///name:port');
