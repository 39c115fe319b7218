import { sleep } from '@gatehouse/kit/clock';

/** Waits until at least this many seconds of the current minute are left. */
export async function earlyInMinute(seconds: number): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000);
  if (left < seconds * 1_000) await sleep(left + 200);
}
