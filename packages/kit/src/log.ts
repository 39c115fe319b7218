import { pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/**
 * A JSON-lines logger on standard output. Bodies, keys, cookies and prompts are never passed to it; the paths below
 * are a second net for objects that carry headers.
 */
export function createLogger(service: string, level: string): Logger {
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: ['*.authorization', '*.cookie', '*["x-gatehouse-assertion"]', '*.secret', '*.key'],
    },
    // Asynchronous writes: a synchronous one per request costs the hot path a system call.
    pino.destination({ fd: 1, sync: false }),
  );
}
