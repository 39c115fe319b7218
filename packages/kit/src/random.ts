import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(16 * 1024);
let used = pool.length;

/**
 * Cryptographically strong random bytes from a pool: a system call for each id would cost the hot path 10 µs. The slice
 * is valid until the next turn of the event loop; copy it to keep the bytes.
 */
export function pooledRandom(bytes: number): Buffer {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.subarray(used - bytes, used);
}
