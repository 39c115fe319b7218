import { sleep } from '@gatehouse/kit/clock';

export interface GroupCommitOptions<Item> {
  /** Writes all items in one transaction. With `retry`, items may be written twice, which must have no effect. */
  commit: (items: readonly Item[]) => Promise<unknown>;
  /** Whether an error is an outage of the database, in which the items are not tried one by one. */
  isOutage: (error: unknown) => boolean;
  maxItems: number;
  /** Keeps items through an outage and retries them. Without it, an outage rejects all waiting items. */
  retry?: {
    everyMs: number;
    /** Further items are rejected. */
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
 * Commits the items of concurrent requests together: items arriving during a commit share the next one. A durable
 * commit takes 0.25–0.35 ms whether it carries 1 row or 32. A group rejected by the database is retried item by item,
 * so one bad row harms no other.
 */
export class GroupCommit<Item> {
  readonly #options: GroupCommitOptions<Item>;
  readonly #stopping = new AbortController();
  #waiting: Waiting<Item>[] = [];
  #busy: Promise<void> | null = null;

  constructor(options: GroupCommitOptions<Item>) {
    this.#options = options;
  }

  /** Items not yet taken by a commit. */
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

  /** Tries waiting items once more, and rejects them if this fails. Resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    while (this.#busy !== null) await this.#busy;
  }

  async #run(): Promise<void> {
    // One turn of the event loop, so requests arriving together go together.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, this.#options.maxItems));
    this.#busy = null;
  }

  async #commit(group: readonly Waiting<Item>[]): Promise<void> {
    try {
      await this.#options.commit(group.map(({ item }) => item));
      // After the next group is sent, so the database works while the requests of this one go on.
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
      // Items arriving during the group's timeout would otherwise wait for the same timeout again.
      for (const { reject } of [...group, ...this.#waiting.splice(0)]) reject(error);
      return;
    }
    this.#waiting.unshift(...group);
    retry.onOutage(error, this.#waiting.length);
    await sleep(retry.everyMs, signal).catch(() => undefined);
  }
}
