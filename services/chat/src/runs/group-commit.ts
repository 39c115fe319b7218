import { sleep } from '@gatehouse/kit/clock';

export interface GroupCommitOptions<Item> {
  /** Writes all items in one transaction; what is kept through an outage is written again and must bear it. */
  commit: (items: readonly Item[]) => Promise<unknown>;
  /** Whether an error is the database being away, so that trying the items one by one is pointless. */
  isOutage: (error: unknown) => boolean;
  maxItems: number;
  /** What is kept through an outage and tried again; without it, an outage rejects everything that waits. */
  retry?: {
    everyMs: number;
    /** Items beyond are rejected. */
    maxWaiting: number;
    onOutage: (error: unknown, waiting: number) => void;
  };
}

interface Waiting<Item> {
  item: Item;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Gathers what concurrent requests want to commit while the previous commit is under way, and commits it together: a
 * durable commit takes 0.25–0.35 ms whether it carries 1 row or 32. A group that the database refuses is retried item
 * by item, so that one bad row harms no other.
 */
export class GroupCommit<Item> {
  readonly #options: GroupCommitOptions<Item>;
  readonly #stopping = new AbortController();
  #waiting: Waiting<Item>[] = [];
  #busy: Promise<void> | null = null;

  constructor(options: GroupCommitOptions<Item>) {
    this.#options = options;
  }

  /** Items of no commit yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when the item is committed; rejects when it can't be. */
  submit(item: Item): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= (this.#options.retry?.maxWaiting ?? Infinity)) {
        reject(new Error(`${this.#waiting.length} items wait for the database already`));
        return;
      }
      this.#waiting.push({ item, resolve, reject });
      this.#busy ??= this.#run();
    });
  }

  /** Tries what waits once more, and rejects it if that fails. Resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    while (this.#busy !== null) await this.#busy;
  }

  async #run(): Promise<void> {
    // One turn of the event loop, so that requests that arrived together go together.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, this.#options.maxItems));
    this.#busy = null;
  }

  async #commit(group: readonly Waiting<Item>[]): Promise<void> {
    try {
      await this.#options.commit(group.map(({ item }) => item));
      // Once the next group has been sent: the database works on it while those of this one go on.
      setImmediate(() => group.forEach(({ resolve }) => resolve()));
    } catch (error) {
      if (this.#options.isOutage(error)) await this.#sitOut(group, error);
      else if (group.length > 1) for (const one of group) await this.#commit([one]);
      else for (const { reject } of group) reject(error);
    }
  }

  async #sitOut(group: readonly Waiting<Item>[], error: unknown): Promise<void> {
    const { retry } = this.#options;
    const { signal } = this.#stopping;
    if (retry === undefined || signal.aborted) {
      // What came while the group waited for its time-out would wait for the same once more.
      for (const { reject } of [...group, ...this.#waiting.splice(0)]) reject(error);
      return;
    }
    this.#waiting.unshift(...group);
    retry.onOutage(error, this.#waiting.length);
    await sleep(retry.everyMs, signal).catch(() => undefined);
  }
}
