import { sleep } from '@gatehouse/kit/clock';

const minuteMs = 60_000;

/** Waits for a moment after which the minute of the clock has at least so many seconds left. */
export async function earlyInMinute(seconds: number): Promise<void> {
  const left = minuteMs - (Date.now() % minuteMs);
  if (left < seconds * 1_000) await sleep(left + 200);
}

/**
 * Sends requests until one has the status 429, and returns the statuses of all: more than a limit of so many a minute, and
 * no more than twice as many, whichever minute they begin in.
 */
export async function upToLimit(
  perMinute: number,
  send: (count: number) => Promise<number>,
): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.length < 2 * (perMinute + 1) && !statuses.includes(429))
    statuses.push(await send(statuses.length));
  return statuses;
}

/** Waits until the minute of the clock is so many seconds old. */
export async function untilSecond(second: number): Promise<void> {
  await sleep((minuteMs + second * 1_000 - (Date.now() % minuteMs)) % minuteMs);
}
