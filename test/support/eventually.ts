import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Tries again every so often (25 ms) until it no longer throws, and returns what it returns; after `withinMs` (90 s) it
 * throws what was thrown last.
 */
export async function eventually<Result>(
  attempt: () => Promise<Result> | Result,
  withinMs = 90_000,
  everyMs = 25,
): Promise<Result> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(everyMs);
  }
}
