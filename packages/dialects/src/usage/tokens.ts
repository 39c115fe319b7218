import { mostTokens } from '../bounds.ts';

/**
 * A count of tokens: an integer from 0 to 10^12, whatever a provider, a client or an estimate makes of it. A fraction is
 * rounded up; what is no number is 0.
 */
export function toTokens(value: number): number {
  if (Number.isNaN(value) || value <= 0) return 0;
  return Math.min(mostTokens, Math.ceil(value));
}

/** Whether a reported figure is a count of tokens. */
export function isTokens(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= mostTokens;
}
