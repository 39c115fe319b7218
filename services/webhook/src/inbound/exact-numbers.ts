const quote = 0x22;
const backslash = 0x5c;
const byteOrderMark = Buffer.from('\ufeff');
/** A number with fewer digits is exact in JavaScript: 2 to the power of 53 has sixteen. */
const shortestInexact = 16;

/**
 * A JSON text with integers that JavaScript can't hold as strings of the same digits: a template must show the id that
 * was sent, not the nearest number. A byte order mark is left out, and any other text stays as it is. One pass over the bytes, without parsing them.
 */
export function withExactIntegers(json: Buffer): string {
  const parts: string[] = [];
  let copied = json.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0;
  for (let at = copied; at < json.length; at += 1) {
    if (json[at] === quote) at = endOfString(json, at);
    else if (isDigit(json[at])) {
      const start = json[at - 1] === 0x2d ? at - 1 : at;
      while (isOfNumber(json[at + 1])) at += 1;
      const number = at + 1 - start < shortestInexact ? '' : json.toString('latin1', start, at + 1);
      if (!/^-?\d{16,}$/.test(number) || Number.isSafeInteger(Number(number))) continue;
      parts.push(json.toString('utf8', copied, start), `"${number}"`);
      copied = at + 1;
    }
  }
  return parts.join('') + json.toString('utf8', copied);
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** Digits, `.`, `e`, `E`, `+` and `-`. */
const isOfNumber = (byte: number | undefined): boolean =>
  isDigit(byte) || byte === 0x2e || byte === 0x65 || byte === 0x45 || byte === 0x2b || byte === 0x2d;

function endOfString(json: Buffer, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}
