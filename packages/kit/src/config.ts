import { z } from 'zod';

/** Invalid settings; the message lists every problem on its own line. */
export class ConfigError extends Error {}

/**
 * Parses settings from the environment. Reports all problems at once, and returns a frozen object. An empty or blank
 * variable counts as unset: `NAME= command` and empty chart values mean this.
 */
export function parseConfig<Shape extends z.ZodType>(
  shape: Shape,
  environment: Record<string, string | undefined>,
): Readonly<z.output<Shape>> {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''));
  const parsed = shape.safeParse(present);
  if (parsed.success) return Object.freeze(parsed.data);
  throw wrongSettings(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`));
}

/** The error with every problem of the settings, a line each. */
export function wrongSettings(problems: readonly string[], options?: ErrorOptions): ConfigError {
  return new ConfigError(`Settings are wrong:\n${problems.map((line) => `  ${line}`).join('\n')}`, options);
}

export const port = z.coerce.number().int().min(0).max(65_535);

export const milliseconds = z.coerce.number().int().min(0);

const unitSeconds = { m: 60, h: 3_600, d: 86_400 } as const;

function secondsOf(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return unit === undefined ? null : Number(count) * unitSeconds[unit as keyof typeof unitSeconds];
}

/** Minutes, hours or days as a text like `12h`, within bounds; in seconds. */
export function duration({ from, to }: { from: string; to: string }) {
  return z
    .string()
    .transform((text) => secondsOf(text.trim()) ?? Number.NaN)
    .refine(
      (seconds) => seconds >= (secondsOf(from) ?? 0) && seconds <= (secondsOf(to) ?? 0),
      `must be such as 90m, 12h or 7d, from ${from} to ${to}`,
    );
}

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
