/** Chunks of this size or more are not copied: the overhead of a buffer is small beside its content. */
const largeBytes = 4 * 1024;
/**
 * The first chunks are not copied either, whatever their size, so a body of few chunks is copied at most once, in
 * `concat`.
 */
const minChunks = 16;
const slabBytes = 64 * 1024;
const empty: Buffer = Buffer.alloc(0);

/** Bodies of this size or more get their memory at once, if their size is announced. */
const announcedBytes = 256 * 1024;

/**
 * Collects the chunks of a body in about as much memory as the body has bytes. A Buffer has about 200 bytes of
 * overhead, so a list of one-byte chunks would take 200 times the size of the body. A large body of announced size is
 * in memory once: otherwise its chunks stay beside the whole until V8 collects old garbage.
 */
export class ChunkList {
  readonly #parts: Buffer[] = [];
  #slab = empty;
  readonly #expected: number;
  #filled = 0;
  #size = 0;

  /** `expected`: the announced bytes. They take no memory until they come. */
  constructor(expected = 0) {
    this.#expected = expected >= announcedBytes ? expected : 0;
  }

  get size(): number {
    return this.#size;
  }

  /** The number of buffers in use. */
  get parts(): number {
    return this.#parts.length;
  }

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size <= this.#expected) {
      if (this.#slab.length === 0) this.#slab = Buffer.allocUnsafeSlow(this.#expected);
      this.#filled += chunk.copy(this.#slab, this.#filled);
      return;
    }
    if (chunk.length >= largeBytes || this.#parts.length < minChunks) {
      this.#closePart();
      this.#parts.push(chunk);
      return;
    }
    if (chunk.length > this.#slab.length - this.#filled) {
      this.#closePart();
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
    }
    this.#filled += chunk.copy(this.#slab, this.#filled);
  }

  concat(): Buffer {
    this.#closePart();
    const [only] = this.#parts;
    return this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts, this.#size);
  }

  /** Turns the filled part of the slab into a part; the rest of the slab receives the next small chunks. */
  #closePart(): void {
    if (this.#filled === 0) return;
    this.#parts.push(this.#slab.subarray(0, this.#filled));
    this.#slab = this.#slab.subarray(this.#filled);
    this.#filled = 0;
  }
}
