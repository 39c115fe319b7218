import { pino, type Logger } from 'pino';
import { toAppError } from './errors.ts';

export type { Logger } from 'pino';

/**
 * A JSON-lines logger on standard output. Bodies, keys, cookies and prompts are never passed to it.
 *
 * Lines are gathered for a tenth of a second or 4 kB: a write per request would cost the hot path a system call, and a
 * search through every line for secrets 16 µs. `lifecycle.ts` flushes before the process ends.
 */
export function createLogger(service: string, level: string): Logger {
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ fd: 1, sync: false, minLength: 4_096, periodicFlush: 100 }),
  );
}

/**
 * Logs what a request failed with, once: an unexpected error in full, an expected one of ours (a peer or a provider is
 * away) as one line with its cause, and a client's own mistakes not at all.
 */
export function logFailure(log: Logger, fields: Record<string, unknown>, caught: unknown): void {
  const error = toAppError(caught);
  if (error.code === 'internal') {
    log.error({ ...fields, err: caught }, 'request failed');
  } else if (error.status >= 500) {
    log.warn({ ...fields, code: error.code, cause: causeOf(error) }, 'request failed');
  }
}

/** The innermost message: where the trouble began. */
function causeOf(error: Error): string {
  return error.cause instanceof Error ? causeOf(error.cause) : error.message;
}
