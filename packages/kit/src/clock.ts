/**
 * The wall clock in milliseconds, for display and expiry. Use `monotonicMs` for durations: clock corrections do not
 * change it.
 */
export function nowMs(): number {
  return Date.now();
}

export function monotonicMs(): number {
  return performance.now();
}

/** Resolves when `work` settles, or after `ms`, whichever comes first. Never rejects. */
export async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const settle = (): void => resolve(undefined);
  const timer = setTimeout(settle, ms);
  work.then(settle, settle);
  await promise;
  clearTimeout(timer);
}

/** Resolves after `ms`, or rejects with the reason of the signal if it aborts first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** The result of `work`, or the reason of the signal if it aborts first; `work` goes on then, and may fail unheard. */
export async function unlessAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
    work.catch(() => undefined);
  }
}
