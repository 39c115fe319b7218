import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import { monotonicMs, sleep } from './clock.ts';
import { FairQueue } from './fair-queue.ts';

/** One for the process, as its event loop is: one piece at a time, and keys share the time. */
const turns = new FairQueue({ perKey: 1, slots: 1, maxWaiting: 1_000 });

/**
 * The part of the event loop's time for large pieces, all together. Requests of others come between them: were all of it
 * theirs, each step of another request would wait for a piece.
 */
const share = 0.25;
/**
 * Time for pieces at once after a time without any: in 800 ms it is saved up again. They owe no more either: a process
 * stopped in a piece goes on soon.
 */
const savedMs = 200;

/** Work with separate turns for its pieces. */
export interface SchedulingKey {
  /** The key in place of each piece's; undefined while the pieces have no turns of their own. */
  readonly key: string | undefined;
}

const schedulingKeys = new AsyncLocalStorage<SchedulingKey>();

/** Runs work others wait for: under a key of its own, its pieces do not wait behind all those of its tenant. */
export function withSchedulingKey<Result>(
  scheduling: SchedulingKey,
  work: () => Promise<Result>,
): Promise<Result> {
  return schedulingKeys.run(scheduling, work);
}

let leftMs = savedMs;
let countedAt = monotonicMs();

/**
 * Runs a piece of synchronous work, up to tens of milliseconds, when its turn has come. Between two pieces the
 * event loop does everything else waiting, for three times as long as pieces take. Throws the errors of `piece`, 429
 * when too many pieces of `key` wait, and the reason of `signal` (by default the caller's, see `forCaller`) if it
 * aborts before the turn has come.
 */
export function runCooperatively<Result>(
  key: string | null,
  piece: () => Result,
  signal?: AbortSignal,
): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const work = async (): Promise<void> => {
    try {
      resolve(timed(piece));
    } catch (error) {
      reject(error);
    }
    await rest();
  };
  turns.run(schedulingKeys.getStore()?.key ?? key, work, signal).catch(reject);
  return promise;
}

function timed<Result>(piece: () => Result): Result {
  const began = monotonicMs();
  leftMs = Math.min(savedMs, leftMs + share * (began - countedAt));
  try {
    return piece();
  } finally {
    countedAt = monotonicMs();
    leftMs = Math.max(-savedMs, leftMs - (countedAt - began));
  }
}

/** A turn of the event loop at least. */
function rest(): Promise<void> {
  return leftMs >= 0 ? setImmediate() : sleep(-leftMs / share);
}
