import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Shares of its time that the event loop works: from the first on it is under load, below the second it is idle. */
const loadShare = 0.2;
const idleShare = 0.05;
const lookMs = 5_000;

/**
 * Returns a function to call every few seconds, which calls `collect` once when the process has become idle after load.
 * `workedShare`: the share of its time that the event loop has worked since the last call. A start is load.
 */
export function collectingWhenIdle(collect: () => void, workedShare: () => number): () => void {
  let wasLoaded = true;
  return () => {
    const share = workedShare();
    if (share >= loadShare) wasLoaded = true;
    if (!wasLoaded || share >= idleShare) return;
    wasLoaded = false;
    collect();
  };
}

/**
 * Lets V8 return memory after load. V8 does so when it measures little allocation, for which it needs a collection of
 * the young generation; an idle process makes none, and would keep all of its memory for minutes or for ever. One of
 * these collections takes 3 ms, and within 20 s V8 has returned what it does not use.
 */
export function returnMemoryWhenIdle(): void {
  let last = performance.eventLoopUtilization();
  const workedShare = (): number => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
  setInterval(collectingWhenIdle(collectYoung, workedShare), lookMs).unref();
}

/** Collects the young generation of the heap. Node has no function for it but V8's own, behind a flag. */
export function collectYoung(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  collect({ type: 'minor' });
}
