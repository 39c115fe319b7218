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
