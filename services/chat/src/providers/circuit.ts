/** How long a call counts. */
const windowMs = 30_000;
const slots = 6;
const slotMs = windowMs / slots;
/** With fewer calls there is no failure rate. */
const leastCalls = 10;
const failureRate = 0.5;
/** While open, 1 call in 20 is a probe, and at least one every 5 s. */
const probeShare = 20;
const probeEveryMs = 5_000;

interface Slot {
  /** Number of the slot since the clock's zero. */
  number: number;
  calls: number;
  failures: number;
}

/**
 * A failure rate over the last half minute. Opens at half of at least ten calls. Probes do not wait for one another, so a probe that hangs delays nothing.
 */
export class Circuit {
  readonly #slots: Slot[] = [];
  #isOpen = false;
  #probedAt = 0;
  #skipped = 0;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether this call should be made; while open, true makes it a probe. */
  admits(now: number): boolean {
    if (!this.#isOpen) return true;
    this.#skipped += 1;
    if (this.#skipped < probeShare && now - this.#probedAt < probeEveryMs) return false;
    this.#skipped = 0;
    this.#probedAt = now;
    return true;
  }

  open(now: number): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#probedAt = now;
    this.#skipped = 0;
  }

  /** Counts a call that has ended. */
  count(failed: boolean, now: number): void {
    const slot = this.#slot(now);
    slot.calls += 1;
    if (!failed) return;
    slot.failures += 1;
    const calls = this.#slots.reduce((sum, one) => sum + one.calls, 0);
    const failures = this.#slots.reduce((sum, one) => sum + one.failures, 0);
    if (calls >= leastCalls && failures >= calls * failureRate) this.open(now);
  }

  #slot(now: number): Slot {
    const number = Math.floor(now / slotMs);
    const last = this.#slots.at(-1);
    if (last?.number === number) return last;
    const slot = { number, calls: 0, failures: 0 };
    this.#slots.push(slot);
    while ((this.#slots[0]?.number ?? number) <= number - slots) this.#slots.shift();
    return slot;
  }
}
