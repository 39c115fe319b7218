/** Wall clock, for display and expiry. Durations use `monotonicMs`, which no clock correction moves. */
export function nowMs(): number {
  return Date.now();
}

export function monotonicMs(): number {
  return performance.now();
}

/** Resolves when the work is over, whatever came of it, or after `ms` if that comes first. */
export async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  const early = new AbortController();
  const late = sleep(ms, early.signal).catch(() => undefined);
  await Promise.race([work.catch(() => undefined), late]);
  early.abort();
}

/** Resolves after `ms`, or rejects with the signal's reason if that comes first. */
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
