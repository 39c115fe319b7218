/*
 * Arrays for `unnest($1::uuid[], $2::text[])`, in forms that cost neither side much. pg's own array literals quote each
 * text here, and PostgreSQL parses them there.
 */

/** PostgreSQL's id of the type, the same everywhere. */
const textType = 25;
const headBytes = 20;

/**
 * An array of texts in the binary format, which pg sends as it is: some dozens of documents of a kilobyte each. Lone
 * surrogates become U+FFFD; a NUL is refused by PostgreSQL.
 */
export function textArray(values: readonly (string | null)[]): Buffer {
  let total = headBytes;
  for (const value of values) total += 4 + (value === null ? 0 : Buffer.byteLength(value));
  const array = Buffer.allocUnsafe(total);
  array.writeInt32BE(values.length === 0 ? 0 : 1); // dimensions
  array.writeInt32BE(1, 4); // there may be nulls
  array.writeInt32BE(textType, 8);
  if (values.length === 0) return array.subarray(0, 12);
  array.writeInt32BE(values.length, 12);
  array.writeInt32BE(1, 16); // index of the first one
  let at = headBytes;
  for (const value of values) {
    const size = value === null ? 0 : array.write(value, at + 4);
    array.writeInt32BE(value === null ? -1 : size, at);
    at += 4 + size;
  }
  return array;
}

/** An array of ids, as text: they hold nothing that would have to be quoted. PostgreSQL refuses what is no id. */
export function idArray(ids: readonly string[]): string {
  return `{${ids.join()}}`;
}
