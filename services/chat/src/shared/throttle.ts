import { monotonicMs } from '@gatehouse/kit/clock';
import { maxThrottled } from '../bounds.ts';

/** Lets one of each key pass in a time. Forgets the oldest of more than 10,000 keys. */
export class Throttle {
  readonly #everyMs: number;
  /** When each key passed last, the longest ago first. */
  readonly #passed = new Map<string, number>();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  passes(key: string, now = monotonicMs()): boolean {
    const last = this.#passed.get(key);
    if (last !== undefined && now - last < this.#everyMs) return false;
    this.#passed.delete(key);
    this.#passed.set(key, now);
    const [oldest] = this.#passed.keys();
    if (this.#passed.size > maxThrottled && oldest !== undefined) this.#passed.delete(oldest);
    return true;
  }
}
