import type { ClockReading } from './store/relay-store.ts';

/**
 * Finds out up to which time everything written is visible. A transaction that wrote a time before `reading.at` had its
 * id by then, hence one below `reading.nextTransaction`; when all those are over, whoever looks sees all it wrote.
 */
export class SettledTime {
  #candidate: ClockReading | null = null;

  /** The latest time before which nothing can appear any more to a reader who starts now; null if none is known yet. */
  take(reading: ClockReading): Date | null {
    const candidate = this.#candidate;
    if (candidate === null) {
      this.#candidate = reading;
      return null;
    }
    if (reading.oldestRunning < candidate.nextTransaction) return null;
    this.#candidate = reading;
    return candidate.at;
  }
}
