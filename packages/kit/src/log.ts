import { pino, type DestinationStream, type Logger } from 'pino';
import { toAppError } from './errors.ts';

export type { Logger } from 'pino';

/**
 * A logger without output needs no destination: the destination's timer would flush it for as long as the process runs.
 */
const nowhere: DestinationStream = { write: () => undefined };

/**
 * A logger of JSON lines on standard output. Never pass it bodies, keys, cookies or prompts.
 *
 * Lines are buffered for 100 ms or 32 kB, because one write per request would cost the hot path a system call. `run` of
 * `@gatehouse/shell` flushes the buffer before the process ends. Lines are not searched for secrets: the search would
 * cost 16 µs each.
 */
export function createLogger(
  service: string,
  level: string,
  destination: DestinationStream = level === 'silent' ? nowhere : logDestination(),
): Logger {
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}

/** Standard output. Loggers of one process share it, so their lines do not mix. */
export function logDestination(): DestinationStream {
  return new ByteOutput();
}

/** Standard output that buffers bytes: of a buffered text, it would compute the size again with each line. */
class ByteOutput implements DestinationStream {
  readonly #output = pino.destination({
    ...{ fd: 1, sync: false, contentMode: 'buffer', minLength: 32_768, maxWrite: 65_536, periodicFlush: 100 },
  });

  write(line: string): void {
    // Its types name texts only.
    this.#output.write(Buffer.from(line) as unknown as string);
  }

  /** pino calls it for `logger.flush`. */
  flush(done?: (error?: Error) => void): void {
    this.#output.flush(done);
  }

  /** pino calls it for a fatal line. */
  flushSync(): void {
    this.#output.flushSync();
  }
}

/**
 * Logs a failed request once: an unexpected error in full, an expected 5xx error (a peer or a provider is unavailable)
 * and a service with wrong credentials as one line with its cause. Does not log client errors.
 */
export function logFailure(log: Logger, fields: Record<string, unknown>, caught: unknown): void {
  const error = toAppError(caught);
  if (error.code === 'internal') {
    log.error({ ...fields, err: caught }, 'request failed');
  } else if (error.status >= 500 || error.code === 'service_unauthenticated') {
    log.warn({ ...fields, code: error.code, cause: causeOf(error) }, 'request failed');
  }
}

/** The message of the innermost cause. */
function causeOf(error: Error): string {
  return error.cause instanceof Error ? causeOf(error.cause) : error.message;
}
