import { totalmem } from 'node:os';
import { checkMs, leastBytes, memoryFraction } from './bounds.ts';

/** A counted process: the memory it holds alone, whether it has no work, and the tenant of its last work. */
export interface MemoryHolder {
  readonly heldBytes: number;
  readonly free: boolean;
  readonly tenantId: string | null;
  kill(): unknown;
}

interface HeldMemory {
  holder: MemoryHolder;
  bytes: number;
}

/**
 * A bound for the memory of many processes together. Each has a limit of its own, but tenants can fill several of
 * several sandboxes at once, and Kubernetes ends a container as a whole. Beyond the bound processes are killed: first
 * those without work, then the largest of the tenant with most memory in its processes. On systems without `/proc`
 * nothing counts.
 */
export class MemoryShare {
  readonly #bytes: number;
  readonly #holders = new Set<MemoryHolder>();
  #timer: NodeJS.Timeout | undefined;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Counts until `leave`. */
  join(holder: MemoryHolder): void {
    this.#holders.add(holder);
    this.#timer ??= setInterval(() => this.#check(), checkMs).unref();
  }

  leave(holder: MemoryHolder): void {
    this.#holders.delete(holder);
    if (this.#holders.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    const left = new Set([...this.#holders].map((holder) => ({ holder, bytes: holder.heldBytes })));
    const sumOf = (held: Iterable<HeldMemory>): number =>
      [...held].reduce((sum, { bytes }) => sum + bytes, 0);
    while (sumOf(left) > this.#bytes) {
      const free = [...left].filter(({ holder }) => holder.free);
      const tenants = [...Map.groupBy(left, ({ holder }) => holder.tenantId).values()];
      const candidates = free.length > 0 ? free : (tenants.toSorted((a, b) => sumOf(b) - sumOf(a))[0] ?? []);
      const [largest] = candidates.toSorted((a, b) => b.bytes - a.bytes);
      if (largest === undefined) return;
      largest.holder.kill();
      left.delete(largest);
    }
  }
}

/** For all sandboxes of this process: a fifth of the memory of the container, or of the machine. */
export const memoryOfSandboxes = new MemoryShare(
  Math.max(leastBytes, memoryFraction * Math.min(totalmem(), process.constrainedMemory() || Infinity)),
);
