import { AppError } from '@gatehouse/kit/errors';

/** Minimum rate of a request body, averaged over a window. */
export const defaultMinBytesPerSecond = 256;
/** Length of the window in milliseconds. */
export const defaultWindowMs = 60_000;

export interface PaceOptions {
  minBytesPerSecond?: number | undefined;
  windowMs?: number | undefined;
}

/** A minimum rate, averaged over a window. */
export interface Pace {
  minBytesPerSecond: number;
  windowMs: number;
}

/** Checks per window, so a stopped body is detected soon after one window. */
const ticksPerWindow = 12;

/** Checks whether bytes arrive, or are read, fast enough, averaged over a sliding window. Call `tick` 12 times per window. */
export class PaceCheck {
  readonly #leastBytes: number;
  #total = 0;
  /** Total bytes at each tick of the window, oldest first. */
  readonly #totals = [0];

  /** `leastBytes`: minimum bytes in one window. */
  constructor(leastBytes: number) {
    this.#leastBytes = leastBytes;
  }

  note(bytes: number): void {
    this.#total += bytes;
  }

  /** Call after each twelfth of the window. Returns true when there were fewer than `leastBytes` in the last window. */
  tick(): boolean {
    const before = this.#totals.length === ticksPerWindow ? this.#totals.shift() : undefined;
    this.#totals.push(this.#total);
    return before !== undefined && this.#total - before < this.#leastBytes;
  }
}

/**
 * Checks a rate until the returned function is called, and calls `onSlow` at most once, with `request_timeout`. `counts`:
 * called for each twelfth of the window; returns whether it counts. `slow`: the problem in words.
 */
export function watchPace(
  { minBytesPerSecond, windowMs }: Pace,
  { counts, slow }: { counts: (check: PaceCheck) => boolean; slow: string },
  onSlow: (error: AppError) => void,
): () => void {
  const check = new PaceCheck((minBytesPerSecond * windowMs) / 1_000);
  const timer = setInterval(() => {
    if (!counts(check) || !check.tick()) return;
    clearInterval(timer);
    const rate = `fewer than ${minBytesPerSecond} bytes per second over ${windowMs / 1_000} seconds`;
    onSlow(new AppError('request_timeout', `${slow}: ${rate}.`));
  }, windowMs / ticksPerWindow);
  return () => clearInterval(timer);
}

/** Enforces the minimum rate of one request body, from construction until `stop`. */
export class PaceWatch {
  readonly #stop: () => void;
  #bytes = 0;
  /** Whether the body reader waits for the client. Time in which received bytes wait for the reader does not count. */
  waiting = true;

  /** Calls `onSlow` at most once, with `request_timeout`. */
  constructor(options: PaceOptions, onSlow: (error: AppError) => void) {
    const { minBytesPerSecond = defaultMinBytesPerSecond, windowMs = defaultWindowMs } = options;
    const counts = (check: PaceCheck): boolean => {
      check.note(this.#bytes);
      this.#bytes = 0;
      return this.waiting;
    };
    const slow = 'The request body arrived too slowly';
    this.#stop = watchPace({ minBytesPerSecond, windowMs }, { counts, slow }, onSlow);
  }

  note(bytes: number): void {
    this.#bytes += bytes;
  }

  stop(): void {
    this.#stop();
  }
}
