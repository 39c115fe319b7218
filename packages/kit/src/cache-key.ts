/**
 * Encodes several values as one key. Different values give different keys: joined with a space, `alice` + `bob x` and
 * `alice bob` + `x` would be the same. Use it for caches, in-flight calls and maps with text from outside in their
 * keys.
 */
export function cacheKey(...parts: readonly (string | number | boolean | null)[]): string {
  return JSON.stringify(parts);
}
