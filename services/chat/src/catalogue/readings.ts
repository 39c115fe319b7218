import { jittered } from '@gatehouse/kit/background-loop';
import { monotonicMs } from '@gatehouse/kit/clock';

const firstPauseMs = 10_000;
const longestPauseMs = 600_000;

/**
 * Readings of a file. A change counts when two in a row agree, so that no file is used while it is written. One that could
 * not be used counts again after a pause, since the reason may pass.
 */
export class Readings {
  readonly #now: () => number;
  #used: string | undefined;
  #last: string | undefined;
  #pauseMs = 0;
  #againAt = Infinity;

  /** `used`: the reading that is in use. */
  constructor(used?: string, now: () => number = monotonicMs) {
    this.#used = used;
    this.#now = now;
  }

  /** Whether a reading is a change that counts. From then on it is the one in use. */
  isChange(reading: string): boolean {
    const agrees = reading === this.#last;
    this.#last = reading;
    if (!agrees) return false;
    if (reading !== this.#used) this.#pauseMs = 0;
    else if (this.#now() < this.#againAt) return false;
    this.#used = reading;
    this.#againAt = Infinity;
    return true;
  }

  /** The change that counted last could not be used. */
  failed(): void {
    this.#pauseMs = Math.min(longestPauseMs, Math.max(firstPauseMs, 2 * this.#pauseMs));
    this.#againAt = this.#now() + jittered(this.#pauseMs);
  }
}
