import { AsyncLocalStorage } from 'node:async_hooks';

const signals = new AsyncLocalStorage<AbortSignal | undefined>();

/**
 * Runs `work` for a caller, which may leave. A wait by {@link callerSignal}, like one for a turn at the database, ends
 * with the reason of `signal` when it aborts. For reads: nothing is left half-done when they end early.
 */
export function forCaller<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  return signals.run(signal, work);
}

/** Runs `work` others wait for as well: it goes on when the caller leaves. */
export function forEveryone<Result>(work: () => Promise<Result>): Promise<Result> {
  return signals.run(undefined, work);
}

/** Aborts when the caller of the current work has left. Undefined for work to be finished in any case. */
export function callerSignal(): AbortSignal | undefined {
  return signals.getStore();
}
