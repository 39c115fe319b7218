import { AppError } from './errors.ts';

/** The headers that say after how many milliseconds a request may be tried again: `retry-after` has whole seconds. */
export function retryAfterHeaders(ms: number): Record<string, string> {
  const waitMs = Math.max(1, Math.ceil(ms));
  return { 'retry-after': String(Math.ceil(waitMs / 1_000)), 'retry-after-ms': String(waitMs) };
}

/** The 429 for a tenant that brings more at once than is processed and kept waiting. */
export function tooManyInFlight(): AppError {
  return new AppError(
    'rate_limit_exceeded',
    'Too many requests of this kind are in flight for this tenant. Try again in 1 s.',
    { headers: retryAfterHeaders(1_000) },
  );
}
