/** `indexOf` takes as long as so many bytes one by one. */
export const shortBytes = 16;

/** Bytes of JSON's punctuation, for readers of unparsed text. */
export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBracket = 0x5b;
export const openBrace = 0x7b;
export const closeBracket = 0x5d;
export const closeBrace = 0x7d;
const letterU = 0x75;
const letterD = 0x64;

export const byteOrderMark = Buffer.from('\ufeff');

/** The place of the first byte at or after `from` other than white space. */
export function skipSpace(json: Buffer, from: number): number {
  let at = from;
  while (json[at] === 0x20 || json[at] === 0x0a || json[at] === 0x0d || json[at] === 0x09) at += 1;
  return at;
}

/** The next place of a byte, or the end. */
export function indexOrEnd(part: Buffer, byte: number, from: number): number {
  const at = part.indexOf(byte, from);
  return at < 0 ? part.length : at;
}

/** The digits behind `\ud` of the first and the second half of a surrogate pair. */
const firstHalf = new Set(Buffer.from('89abAB'));
const secondHalf = new Set(Buffer.from('cdefCDEF'));

/** Bytes of the escape at a place, with the second half if it is the first of a surrogate pair; 0 without one. */
export function escapeBytes(json: Buffer, at: number): number {
  if (json[at] !== backslash) return 0;
  if (json[at + 1] !== letterU) return 2;
  return isHalf(json, at, firstHalf) && isHalf(json, at + 6, secondHalf) ? 12 : 6;
}

function isHalf(json: Buffer, at: number, digits: ReadonlySet<number>): boolean {
  if (json[at] !== backslash || json[at + 1] !== letterU) return false;
  return ((json[at + 2] ?? 0) | 0x20) === letterD && digits.has(json[at + 3] ?? 0);
}

/** Larger requests are read one at a time, and their long texts apart: many smaller ones take less memory than one of them. */
export const largeBytes = 1024 * 1024;

/** Documents up to this size are read at once, which takes up to 3 ms. */
export const smallBytes = 64 * 1024;

/** Texts with many escapes in large documents: the places of their ends, by those of their beginnings. */
const knownEnds = new WeakMap<Buffer, ReadonlyMap<number, number>>();

/**
 * Notes where texts with many escapes end. To look for an end takes 50 ns an escape, and readers of a document look for it
 * again and again: at 5 million escapes each time took 250 ms.
 */
export function noteTextEnds(json: Buffer, ends: ReadonlyMap<number, number>): void {
  if (ends.size > 0) knownEnds.set(json, ends);
}

/** The place of the closing quote of the text at `from`, or the end of the bytes. */
export function textEnd(json: Buffer, from: number): number {
  let at = from + 1;
  for (; at < from + shortBytes; at += 1) {
    if (json[at] === quote) return at;
    if (json[at] === backslash) at += 1;
  }
  if (json.length > smallBytes) {
    const known = knownEnds.get(json)?.get(from);
    if (known !== undefined) return known;
  }
  for (;;) {
    const end = json.indexOf(quote, at);
    if (end < 0) return json.length;
    let slashes = 0;
    while (json[end - 1 - slashes] === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
    at = end + 1;
  }
}
