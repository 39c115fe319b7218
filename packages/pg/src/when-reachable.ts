import { sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { isDatabaseOutage } from './errors.ts';

const retryMs = 500;

/**
 * Repeats `work` while it fails because the database can't be reached. Throws its other errors, and the reason of an
 * aborted signal.
 */
export async function whenReachable<Result>(
  work: () => Promise<Result>,
  log: Logger,
  signal: AbortSignal,
): Promise<Result> {
  for (let waiting = false; ; waiting = true) {
    try {
      return await work();
    } catch (error) {
      // Stopping closes the pool, which is an error of its own.
      signal.throwIfAborted();
      if (!isDatabaseOutage(error)) throw error;
      if (!waiting) log.warn({ err: error }, 'waiting for the database');
    }
    await sleep(retryMs, signal);
  }
}
