const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const openBrace = 0x7b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;

/** Whether a JSON text has more than `max` objects and arrays, which take most of the memory and time of parsing. */
export function hasMoreContainers(json: Buffer, max: number): boolean {
  // Each takes at least two bytes.
  if (json.length <= 2 * max) return false;
  let count = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at);
    else if (byte === openBracket || byte === openBrace) count += 1;
    if (count > max) return true;
  }
  return false;
}

/**
 * Whether a JSON text has more values, which commas and opening brackets show, or more objects and arrays inside one
 * another. The result is meaningless for text that is not JSON.
 */
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
