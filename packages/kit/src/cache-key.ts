/**
 * One text for several values, different for different values: joined with a separator, `alice` + `bob x` and
 * `alice bob` + `x` would be one key. For caches, in-flight calls and maps whose keys have text from outside in them.
 */
export function cacheKey(...parts: readonly (string | number | boolean | null)[]): string {
  return JSON.stringify(parts);
}
