import { setImmediate } from 'node:timers/promises';
import { Turns } from './turns.ts';

/** One for the process, as its event loop is: one piece at a time, and keys share the time. */
const turns = new Turns({ perKey: 1, slots: 1, maxWaiting: 1_000 });

/**
 * Runs a piece of synchronous work that may take tens of milliseconds when its turn has come. Between two pieces the
 * event loop does everything else that waits. Throws what `piece` throws, and 429 when too many pieces of `key` wait.
 */
export function inLoopTurn<Result>(key: string | null, piece: () => Result): Promise<Result> {
  return turns.run(key, async () => {
    try {
      return piece();
    } finally {
      await setImmediate();
    }
  });
}
