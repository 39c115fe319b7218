/*
 * Arrays as PostgreSQL's binary protocol has them, for `unnest($1::uuid[], $2::text[])`: a few dozen documents of a
 * kilobyte each go in without being quoted here and parsed there. pg sends a Buffer as it is.
 */

/** Object ids of PostgreSQL's types: the same in every cluster. */
const textType = 25;
const uuidType = 2950;

/** Lone surrogates become U+FFFD; a NUL is refused by PostgreSQL. */
export function textArray(values: readonly (string | null)[]): Buffer {
  const sizes = values.map((value) => (value === null ? 0 : Buffer.byteLength(value)));
  return arrayOf(textType, sizes, (buffer, at, index) => {
    const value = values[index] ?? null;
    if (value === null) return false;
    buffer.write(value, at);
    return true;
  });
}

/** Throws for what is no UUID with its four hyphens. */
export function uuidArray(values: readonly string[]): Buffer {
  const sizes = values.map(() => 16);
  return arrayOf(uuidType, sizes, (buffer, at, index) => {
    const value = values[index] ?? '';
    if (buffer.write(value.replaceAll('-', ''), at, 'hex') !== 16 || value.length !== 36)
      throw new Error('not a UUID');
    return true;
  });
}

/** `write` returns whether there is a value; null otherwise. */
function arrayOf(
  type: number,
  sizes: readonly number[],
  write: (buffer: Buffer, at: number, index: number) => boolean,
): Buffer {
  const total = sizes.reduce((sum, size) => sum + 4 + size, 20);
  const buffer = Buffer.allocUnsafe(total);
  // Dimensions, whether there may be nulls, type, length, lower bound.
  [sizes.length === 0 ? 0 : 1, 1, type, sizes.length, 1].forEach((word, index) =>
    buffer.writeInt32BE(word, index * 4),
  );
  if (sizes.length === 0) return buffer.subarray(0, 12);
  let at = 20;
  sizes.forEach((size, index) => {
    buffer.writeInt32BE(write(buffer, at + 4, index) ? size : -1, at);
    at += 4 + size;
  });
  return buffer;
}
