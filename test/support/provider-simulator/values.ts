/** Small helpers for reading JSON from the wire. */

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isWholeNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** The entries of an array; none of anything else. */
export function entriesIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function objectsIn(value: unknown): JsonObject[] {
  return entriesIn(value).filter(isObject);
}

/** Splits into words with their white space, so that joining them restores the text. */
export function splitIntoWords(text: string): string[] {
  return text.match(/^\s*\S+\s*|\S+\s*/g) ?? (text === '' ? [] : [text]);
}

/** Splits into at most `count` pieces of similar length, never inside a code point. */
export function splitEvenly(text: string, count: number): string[] {
  const characters = Array.from(text);
  const pieces = Math.min(count, characters.length);
  return Array.from({ length: pieces }, (_, index) =>
    characters
      .slice(
        Math.floor((index * characters.length) / pieces),
        Math.floor(((index + 1) * characters.length) / pieces),
      )
      .join(''),
  );
}

/** The first `limit` UTF-16 units, without splitting a surrogate pair. */
export function firstCharacters(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const inPair = /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(limit));
  return text.slice(0, inPair ? limit - 1 : limit);
}
