/** The headers that say after how many milliseconds a request may be tried again: `retry-after` has whole seconds. */
export function retryAfterHeaders(ms: number): Record<string, string> {
  const waitMs = Math.max(1, Math.ceil(ms));
  return { 'retry-after': String(Math.ceil(waitMs / 1_000)), 'retry-after-ms': String(waitMs) };
}
