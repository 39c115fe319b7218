import type { ClockReading } from './store/relay-store.ts';

/**
 * Finds the time up to which everything written is visible. A transaction with a time written before `reading.at` had
 * its id by then, so the id is below `reading.nextTransaction`. Once all transactions below this id have ended, a new
 * snapshot sees everything they wrote.
 */
export class SettledTime {
  #candidate: ClockReading | null = null;

  /** Returns the latest time before which no row can appear any more, or null while it is unknown. */
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
