/** The headers for a request to be tried again after so many milliseconds: `retry-after` has whole seconds. */
export function retryAfterHeaders(ms: number): Record<string, string> {
  const waitMs = Math.max(1, Math.ceil(ms));
  return { 'retry-after': String(Math.ceil(waitMs / 1_000)), 'retry-after-ms': String(waitMs) };
}
