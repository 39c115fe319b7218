import { maxMends } from '../bounds.ts';
import type { ProviderFailure } from './provider-failure.ts';

const firstMs = 250;
const maxMs = 4_000;
const longestRetryAfterMs = 5_000;

/**
 * How long to wait before retry number `retry` (0 is the first), or null to go on to the next model because the provider
 * asks for a longer wait than the gateway accepts. Exponential with full jitter.
 */
export function retryDelay(
  retry: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number | null {
  if (retryAfterMs !== undefined) return retryAfterMs <= longestRetryAfterMs ? retryAfterMs : null;
  return random() * Math.min(maxMs, firstMs * 2 ** retry);
}

/** The calls of one model after failed ones. */
export class Repeats {
  readonly #max: number;
  #retries = 0;
  #isRenewed = false;
  #mends = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether a changed request is sent at once, as `isNeeded` says; no more than a few times. */
  mends(isNeeded: () => boolean): boolean {
    if (!isNeeded() || this.#mends >= maxMends) return false;
    this.#mends += 1;
    return true;
  }

  /** How long to wait before the next call; null without one. A call with renewed credentials is no retry. */
  after(failure: ProviderFailure): number | null {
    if (failure.details.isStale === true && !this.#isRenewed) {
      this.#isRenewed = true;
      return 0;
    }
    if (!failure.retryable || this.#retries >= this.#max) return null;
    this.#retries += 1;
    return retryDelay(this.#retries - 1, failure.details.retryAfterMs);
  }
}

/** `Retry-After` as milliseconds: seconds or an HTTP date (RFC 9110 §10.2.3), and OpenAI's `retry-after-ms`. */
export function parseRetryAfter(
  seconds: string | undefined,
  ms: string | undefined,
  nowMs: number,
): number | undefined {
  if (ms !== undefined && /^\d+(\.\d+)?$/.test(ms)) return Number(ms);
  if (seconds === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(seconds)) return Number(seconds) * 1_000;
  const date = Date.parse(seconds);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
