/**
 * Encodes several values as one key. Different values give different keys: joined with a space, `alice` + `bob x` and
 * `alice bob` + `x` would be the same. Use it for caches, in-flight calls and maps whose keys contain text from
 * outside.
 */
export function cacheKey(...parts: readonly (string | number | boolean | null)[]): string {
  return JSON.stringify(parts);
}
