import { AppError } from '@gatehouse/kit/errors';

/** Minimum rate of a request body, averaged over a window. */
export const defaultMinBytesPerSecond = 256;
/** Length of the window in milliseconds. */
export const defaultWindowMs = 60_000;

export interface PaceOptions {
  minBytesPerSecond?: number | undefined;
  windowMs?: number | undefined;
}

/** Checks per window, so that a body that stops is detected soon after one window. */
export const ticksPerWindow = 12;

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

/** Enforces the minimum rate of one request body, from construction until `stop`. */
export class PaceWatch {
  readonly #check: PaceCheck;
  readonly #timer: NodeJS.Timeout;
  /** Whether the body reader waits for the client. Time in which received bytes wait for the reader does not count. */
  waiting = true;

  /** Calls `onSlow` at most once, with `request_timeout`. */
  constructor(options: PaceOptions, onSlow: (error: AppError) => void) {
    const { minBytesPerSecond = defaultMinBytesPerSecond, windowMs = defaultWindowMs } = options;
    this.#check = new PaceCheck((minBytesPerSecond * windowMs) / 1_000);
    this.#timer = setInterval(() => {
      if (!this.waiting || !this.#check.tick()) return;
      this.stop();
      onSlow(tooSlow(minBytesPerSecond, windowMs));
    }, windowMs / ticksPerWindow);
  }

  note(bytes: number): void {
    this.#check.note(bytes);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

function tooSlow(minBytesPerSecond: number, windowMs: number): AppError {
  return new AppError(
    'request_timeout',
    `The request body arrived too slowly: fewer than ${minBytesPerSecond} bytes per second over ${windowMs / 1_000} seconds.`,
  );
}
