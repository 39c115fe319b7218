import { ConfigError, parseConfig } from '@gatehouse/kit/config';
import type { z } from 'zod';

/** The problems that reading settings reports, one line each. */
export function problemsOf(shape: z.ZodType, environment: Record<string, string>): string[] {
  try {
    parseConfig(shape, environment);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n').slice(1);
  }
}
