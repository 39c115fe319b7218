const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const openBrace = 0x7b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;

/**
 * Whether a JSON text has more than `max` values, without parsing it. Counts commas and opening brackets outside
 * strings: at least the number of values minus one, and one more for each empty array and object. The result is
 * meaningless for text that is not JSON.
 */
export function hasMoreValues(json: Buffer, max: number): boolean {
  return hasMore(json, max, true);
}

/** Whether a JSON text has more than `max` objects and arrays, which take most of the memory and time of parsing. */
export function hasMoreContainers(json: Buffer, max: number): boolean {
  return hasMore(json, max, false);
}

/** Whether a JSON text has more texts and names of members than `max`, without parsing it. */
export function hasMoreTexts(json: Buffer, max: number): boolean {
  // Each text takes at least three bytes, with what parts it from the next.
  if (json.length <= 3 * max) return false;
  let count = 0;
  for (let at = json.indexOf(quote); at >= 0; at = json.indexOf(quote, at)) {
    count += 1;
    if (count > max) return true;
    at = endOfString(json, at) + 1;
  }
  return false;
}

/** Whether a JSON text has more values, as {@link hasMoreValues} counts them, or more objects and arrays inside one another. */
export function isLarger(json: Buffer, most: { values: number; depth: number }): boolean {
  let [count, depth] = [0, 0];
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at);
    else if (byte === openBracket || byte === openBrace) {
      count += 1;
      depth += 1;
    } else if (byte === comma) count += 1;
    else if (byte === closeBracket || byte === closeBrace) depth -= 1;
    if (count > most.values || depth > most.depth) return true;
  }
  return false;
}

function hasMore(json: Buffer, max: number, countsCommas: boolean): boolean {
  // Each value takes at least one byte.
  if (json.length <= max) return false;
  let count = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at);
    else if (byte === openBracket || byte === openBrace || (byte === comma && countsCommas)) count += 1;
    if (count > max) return true;
  }
  return false;
}

/** The position of the closing quote of the string that begins at `start`. */
function endOfString(json: Buffer, start: number): number {
  let end = json.indexOf(quote, start + 1);
  while (end > 0 && isEscaped(json, end)) end = json.indexOf(quote, end + 1);
  return end < 0 ? json.length : end;
}

function isEscaped(json: Buffer, at: number): boolean {
  let slashes = 0;
  while (json[at - 1 - slashes] === backslash) slashes += 1;
  return slashes % 2 === 1;
}

/** Whether a value has more than `max` characters as JSON, about. Stops counting there. */
export function isLongAsJson(value: unknown, max: number): boolean {
  return charsLeft(value, max) < 0;
}

/** What is left of `chars` after a value, or a negative number. */
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
