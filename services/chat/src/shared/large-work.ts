import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { largeBytes } from '@gatehouse/kit/json-bytes';
import { withSchedulingKey, type SchedulingKey } from '@gatehouse/kit/cooperative';

/**
 * Requests with their text and values in memory beside their bytes: up to four times as much again, since one character
 * outside of Latin-1 doubles a text. One at a time, as their pieces are at the event loop anyway: six requests of 17
 * MiB at once took no less time, and 212 MiB for 123.
 */
const largeRequests = new FairQueue({
  ...{ perKey: 1, slots: 1, maxWaiting: 1_000 },
  // As long as a body waits before it is read.
  longestWait: { ms: 30_000, error: allBusy },
});

function allBusy(): AppError {
  return new AppError('service_unavailable', 'Too many large requests are being read. Try again in 5 s.', {
    retryAfterMs: 5_000,
  });
}

/**
 * The turn of one request for what takes memory beside its bytes. Inside it, code waits for the database alone, and only
 * while it reads or writes a content in memory; never for another service, a client, a provider or a tool, nor behind the
 * pieces of other requests of its tenant at the event loop.
 */
export class LargeWork implements SchedulingKey {
  readonly #tenantId: string | null;
  readonly #signal: AbortSignal | undefined;
  #leave: (() => void) | null = null;

  /** `signal`: aborts when the request is no longer wanted. */
  constructor(tenantId: string | null, signal?: AbortSignal) {
    this.#tenantId = tenantId;
    this.#signal = signal;
  }

  /**
   * Waits for the turn if the request has enough bytes to need one, and has no turn yet. Throws 429 when too many of
   * the tenant wait, 503 after half a minute, and the reason of the signal.
   */
  async begin(bytes: number): Promise<void> {
    if (bytes <= largeBytes || this.#leave !== null) return;
    const begun = Promise.withResolvers<() => void>();
    const work = (): Promise<void> => new Promise((leave) => begun.resolve(leave));
    largeRequests.run(this.#tenantId, work, this.#signal).catch(begun.reject);
    this.#leave = await begun.promise;
  }

  /** Runs work in a turn of its own, which it may also begin later, as soon as it has more bytes. */
  static async during<Result>(
    { tenantId, bytes, signal }: { tenantId: string | null; bytes: number; signal?: AbortSignal | undefined },
    run: (work: LargeWork) => Promise<Result>,
  ): Promise<Result> {
    const work = new LargeWork(tenantId, signal);
    await work.begin(bytes);
    try {
      return await withSchedulingKey(work, () => run(work));
    } finally {
      work.end();
    }
  }

  /** The key of its pieces at the event loop. Without a turn they wait behind those of its tenant. */
  get key(): string | undefined {
    return this.#leave === null ? undefined : `large ${this.#tenantId ?? ''}`;
  }

  /** Requests waiting for their turn. */
  static get waiting(): number {
    return largeRequests.waiting;
  }

  /** Ends the turn, if it has begun. */
  end(): void {
    this.#leave?.();
    this.#leave = null;
  }
}
