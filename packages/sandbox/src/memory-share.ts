import { totalmem } from 'node:os';

/** A process that counts: how much it holds alone, and whether it has no work. */
export interface Holder {
  readonly heldBytes: number;
  readonly free: boolean;
  kill(): unknown;
}

/** The service's heap may have 60 % (deploy/Dockerfile); the rest is for its code and buffers. */
const fraction = 0.2;
/** One process at its limit of heap can always work. */
const leastBytes = 192 * 2 ** 20;
const checkMs = 50;

/**
 * A bound for the memory of many processes together. Each has a limit of its own, but tenants can fill several of
 * several sandboxes at once, and Kubernetes ends a container as a whole. Beyond the bound the largest process is killed,
 * one without work first. On systems without `/proc` nothing counts.
 */
export class MemoryShare {
  readonly #bytes: number;
  readonly #holders = new Set<Holder>();
  #timer: NodeJS.Timeout | undefined;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Counts until `leave`. */
  join(holder: Holder): void {
    this.#holders.add(holder);
    this.#timer ??= setInterval(() => this.#check(), checkMs).unref();
  }

  leave(holder: Holder): void {
    this.#holders.delete(holder);
    if (this.#holders.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    const counted = [...this.#holders].map((holder) => ({ holder, bytes: holder.heldBytes }));
    let sum = counted.reduce((all, { bytes }) => all + bytes, 0);
    counted.sort((a, b) => Number(b.holder.free) - Number(a.holder.free) || b.bytes - a.bytes);
    for (const { holder, bytes } of counted) {
      if (sum <= this.#bytes) return;
      holder.kill();
      sum -= bytes;
    }
  }
}

/** For all sandboxes of this process: a fifth of the memory of the container, or of the machine. */
export const memoryOfSandboxes = new MemoryShare(
  Math.max(leastBytes, fraction * Math.min(totalmem(), process.constrainedMemory() || Infinity)),
);
