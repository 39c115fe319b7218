import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls the condition every 25 ms until it holds, and returns the elapsed milliseconds. Throws the complaint after the
 * timeout.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  complaint: () => string,
  everyMs = 25,
): Promise<number> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > timeoutMs) throw new Error(complaint());
    await sleep(everyMs);
  }
  return performance.now() - start;
}
