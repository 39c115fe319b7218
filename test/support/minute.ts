import { sleep } from '@gatehouse/kit/clock';

/** Waits for a moment after which the minute of the clock has at least so many seconds left. */
export async function earlyInMinute(seconds: number): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000);
  if (left < seconds * 1_000) await sleep(left + 200);
}
