import { pino, type Logger } from 'pino';

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
