import { JsonScan } from './json-scan.ts';

const unlimited = { texts: Infinity, escapes: Infinity, bare: Infinity };

/**
 * Whether a JSON text has more values, counted by commas and opening brackets, or more objects and arrays inside one
 * another. The result is meaningless for text other than JSON.
 */
export function isLarger(json: Buffer, most: { values: number; depth: number }): boolean {
  return JsonScan.exceeds(json, { ...unlimited, ...most }) !== undefined;
}

/** Whether a value has more than `max` characters as JSON, about. Stops counting there. */
export function isLongAsJson(value: unknown, max: number): boolean {
  return charsLeft(value, max) < 0;
}

/** Returns the rest of `chars` after a value, or a negative number. */
function charsLeft(value: unknown, chars: number): number {
  if (typeof value === 'string') return chars - value.length - 2;
  if (typeof value !== 'object' || value === null) return chars - 5;
  const isArray = Array.isArray(value);
  let left = chars - 2;
  for (const name in value) {
    left = charsLeft((value as Record<string, unknown>)[name], left - (isArray ? 1 : name.length + 4));
    if (left < 0) return left;
  }
  return left;
}
