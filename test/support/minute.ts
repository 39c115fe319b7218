import { sleep } from '@gatehouse/kit/clock';

const minuteMs = 60_000;

/** Waits for a moment after which the minute of the clock has at least so many seconds left. */
export async function earlyInMinute(seconds: number): Promise<void> {
  const left = minuteMs - (Date.now() % minuteMs);
  if (left < seconds * 1_000) await sleep(left + 200);
}

/** Waits until the minute of the clock is so many seconds old. */
export async function untilSecond(second: number): Promise<void> {
  await sleep((minuteMs + second * 1_000 - (Date.now() % minuteMs)) % minuteMs);
}
