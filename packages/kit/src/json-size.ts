const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const openBrace = 0x7b;

/**
 * Whether a JSON text has more values and members than `max`, without parsing it: their number is that of its commas
 * and opening brackets outside strings, and at most one more. Of a text that is no JSON the answer means nothing.
 */
export function hasMoreValues(json: Buffer, max: number): boolean {
  return hasMore(json, max, true);
}

/** The same for objects and arrays alone, which take most of the memory and of the time. */
export function hasMoreContainers(json: Buffer, max: number): boolean {
  return hasMore(json, max, false);
}

function hasMore(json: Buffer, max: number, countsCommas: boolean): boolean {
  // Each takes a byte at least.
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

/** Where the string that begins at `start` has its closing quote. */
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
