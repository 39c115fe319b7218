/*
 * Encodes arrays for `unnest($1::uuid[], $2::text[])` at little cost. In pg's own array literals, each text is quoted
 * here and parsed by PostgreSQL.
 */

/** The OID of `text`, the same in every PostgreSQL. */
const textType = 25;
const headBytes = 20;

/**
 * Encodes a text array in the binary format, which pg sends unchanged; meant for some dozens of documents of about a
 * kilobyte. Lone surrogates become U+FFFD; PostgreSQL rejects NUL.
 */
export function textArray(values: readonly (string | null)[]): Buffer {
  let total = headBytes;
  for (const value of values) total += 4 + (value === null ? 0 : Buffer.byteLength(value));
  const array = Buffer.allocUnsafe(total);
  array.writeInt32BE(values.length === 0 ? 0 : 1); // dimensions
  array.writeInt32BE(1, 4); // may contain nulls
  array.writeInt32BE(textType, 8);
  if (values.length === 0) return array.subarray(0, 12);
  array.writeInt32BE(values.length, 12);
  array.writeInt32BE(1, 16); // index of the first element
  let at = headBytes;
  for (const value of values) {
    const size = value === null ? 0 : array.write(value, at + 4);
    array.writeInt32BE(value === null ? -1 : size, at);
    at += 4 + size;
  }
  return array;
}

/**
 * Encodes ids, numbers, booleans or times as an array literal, without quoting because they contain no special characters.
 * PostgreSQL rejects invalid ones.
 */
export function plainArray(values: readonly (string | number | boolean | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join()}}`;
}

/** Encodes an array of texts as an array literal, to be a text in an array itself. */
export function arrayLiteral(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join()}}`;
}
