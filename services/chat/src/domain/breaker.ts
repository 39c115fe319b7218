import { monotonicMs } from '@gatehouse/kit/clock';

const failuresToOpen = 5;
const windowMs = 30_000;
const probeAfterMs = 5_000;

/**
 * One provider's circuit breaker: opens after 5 failures in a row within 30 s, lets one probe through after 5 s, and
 * closes when it succeeds. Each replica has its own; it saves waiting, and no answer depends on it.
 */
export class Breaker {
  readonly #now: () => number;
  #failures: number[] = [];
  #openUntil: number | null = null;
  #probing = false;

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  /** Whether a call may be made now. A yes while open makes that call the probe. */
  allow(): boolean {
    if (this.#openUntil === null) return true;
    if (this.#probing || this.#now() < this.#openUntil) return false;
    this.#probing = true;
    return true;
  }

  /** Whether the provider is left alone, but for a probe. */
  get isOpen(): boolean {
    return this.#openUntil !== null;
  }

  /** Milliseconds until the next probe may be made. */
  get waitMs(): number {
    return this.#openUntil === null ? 0 : Math.max(0, this.#openUntil - this.#now());
  }

  succeeded(): void {
    this.#failures = [];
    this.#openUntil = null;
    this.#probing = false;
  }

  failed(): void {
    const now = this.#now();
    this.#failures = [...this.#failures.filter((at) => now - at < windowMs), now].slice(-failuresToOpen);
    if (this.#openUntil !== null || this.#failures.length >= failuresToOpen)
      this.#openUntil = now + probeAfterMs;
    this.#probing = false;
  }

  /** The call said nothing about the provider's health: the client left, say. The next call is the probe then. */
  unknown(): void {
    this.#probing = false;
  }
}
