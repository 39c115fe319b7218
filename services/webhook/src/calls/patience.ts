import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { maxOpenWaits, openWaitMs, pollMs } from '../bounds.ts';

/** Senders waiting for the answer of an endpoint about to move to another tenant. */
export class EndpointWait {
  #waiting = 0;

  /**
   * Resolves with the endpoint when it is open; null if it was deleted. Throws `service_unavailable` after a long wait.
   */
  async untilOpen<State extends { closed: boolean }>(
    find: () => Promise<State | null>,
  ): Promise<State | null> {
    if (this.#waiting >= maxOpenWaits) refuseClosed();
    const until = monotonicMs() + openWaitMs;
    this.#waiting += 1;
    try {
      for (;;) {
        const result = await find();
        if (result?.closed !== true) return result;
        if (monotonicMs() > until) refuseClosed();
        await sleep(pollMs);
      }
    } finally {
      this.#waiting -= 1;
    }
  }
}

export function refuseClosed(): never {
  throw new AppError(
    'service_unavailable',
    'The endpoint is about to move to another tenant. Send it again.',
    { retryAfterMs: openWaitMs },
  );
}
