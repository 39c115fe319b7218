import { setTimeout as sleep } from 'node:timers/promises';

/** The longest pause between two attempts, unless the caller asks for a longer one. */
const longestPauseMs = 200;

/**
 * Tries again every `everyMs` (25) until it no longer throws, and returns what it returns; after `withinMs` (90 s) it
 * throws what was thrown last. Pauses grow to a twentieth of the time waited so far, so that a long wait costs little.
 */
export async function eventually<Result>(
  attempt: () => Promise<Result> | Result,
  withinMs = 90_000,
  everyMs = 25,
): Promise<Result> {
  const begin = performance.now();
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() - begin > withinMs) throw error;
    }
    const grown = Math.min((performance.now() - begin) / 20, longestPauseMs);
    await sleep(Math.max(everyMs, grown));
  }
}
