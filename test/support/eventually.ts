import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats `attempt` until it no longer throws. After `withinMs` (default 20 s) throws the last error. */
export async function eventually<Result>(
  attempt: () => Promise<Result> | Result,
  withinMs = 20_000,
): Promise<Result> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(50);
  }
}
