import { AppError } from '@gatehouse/kit/errors';

/** What a request body must carry on average over a window. */
export const defaultMinBytesPerSecond = 256;
/** Length of the window. */
export const defaultWindowMs = 60_000;

export interface PaceOptions {
  minBytesPerSecond?: number | undefined;
  windowMs?: number | undefined;
}

/** A window is checked this often in its length, so that a body which stops is noticed soon after one window. */
const ticksPerWindow = 12;

/** Whether a body arrives fast enough, on average over a sliding window. The caller calls `tick` 12 times a window. */
export class PaceCheck {
  readonly #leastBytes: number;
  #total = 0;
  /** What had arrived at each tick of the window, oldest first. */
  readonly #totals = [0];

  /** `leastBytes`: what a whole window must carry. */
  constructor(leastBytes: number) {
    this.#leastBytes = leastBytes;
  }

  note(bytes: number): void {
    this.#total += bytes;
  }

  /** A twelfth of the window has passed: returns whether the window that ends now carried too little. */
  tick(): boolean {
    const before = this.#totals.length === ticksPerWindow ? this.#totals.shift() : undefined;
    this.#totals.push(this.#total);
    return before !== undefined && this.#total - before < this.#leastBytes;
  }
}

/** Holds one request body to its pace, from its construction until `stop`. */
export class PaceWatch {
  readonly #check: PaceCheck;
  readonly #timer: NodeJS.Timeout;
  /** Whether the client is what is waited for. Time in which its bytes wait for their reader does not count. */
  waiting = true;

  /** `onSlow` is called once, with `request_timeout`. */
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
    `The request body arrived too slowly: less than ${minBytesPerSecond} bytes a second over ${windowMs / 1_000} seconds.`,
  );
}
