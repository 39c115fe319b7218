import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks every so often (25 ms) until the condition holds, and returns after how many milliseconds it did. Throws the
 * complaint when the time is over.
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
