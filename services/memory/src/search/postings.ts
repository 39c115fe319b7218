/**
 * The entries of one term in one block of 1,024 neighbouring passages: 4 bytes each, big-endian, with the number of the
 * passage in its block (10 bits), how often the passage has the term (6 bits) and the length of the passage (16 bits).
 */

export const blockSize = 1_024;
export const entryBytes = 4;
const maxCount = 63;
const maxLength = 65_535;

/** The block of a passage. */
export function blockOf(number: number): number {
  return Math.floor(number / blockSize);
}

/** An entry, as a number of 32 bits. */
export function entryOf({
  number,
  count,
  length,
}: {
  number: number;
  count: number;
  length: number;
}): number {
  return (number % blockSize) * 2 ** 22 + Math.min(count, maxCount) * 2 ** 16 + Math.min(length, maxLength);
}

export function packEntries(entries: readonly number[]): Buffer {
  const packed = Buffer.allocUnsafe(entries.length * entryBytes);
  entries.forEach((entry, index) => packed.writeUInt32BE(entry, index * entryBytes));
  return packed;
}

/** The entries without those of these passages, given by their numbers in the block. */
export function withoutPassages(packed: Buffer, numbers: ReadonlySet<number>): Buffer {
  const remaining: number[] = [];
  for (let at = 0; at < packed.length; at += entryBytes) {
    const entry = packed.readUInt32BE(at);
    if (!numbers.has(entry >>> 22)) remaining.push(entry);
  }
  return packEntries(remaining);
}

/** The entries of a term in a block of a scope. */
export interface Posting {
  scopeId: string;
  term: string;
  block: number;
  entries: Buffer;
}
