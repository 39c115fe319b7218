/** Chunks from this size on are kept as they came: what surrounds a buffer is little beside them. */
const largeBytes = 4 * 1024;
/** So are the first chunks of any size: a body that comes in few parts is copied once, at its end, or not at all. */
const keptChunks = 16;
const slabBytes = 64 * 1024;

/**
 * Collects the chunks of a body in about as much memory as the body has bytes. A buffer takes some 200 bytes beside its
 * content, so a list of chunks of one byte each would take 200 times the body.
 */
export class ChunkList {
  readonly #parts: Buffer[] = [];
  #slab = Buffer.alloc(0);
  #filled = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many buffers hold it. */
  get parts(): number {
    return this.#parts.length;
  }

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    if (chunk.length >= largeBytes || this.#parts.length < keptChunks) {
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

  /** What is filled of the slab becomes a part; its rest takes the next small chunks. */
  #closePart(): void {
    if (this.#filled === 0) return;
    this.#parts.push(this.#slab.subarray(0, this.#filled));
    this.#slab = this.#slab.subarray(this.#filled);
    this.#filled = 0;
  }
}
