interface WaitingInput<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Handles items together: items arriving during a call share the next one. So many callers take one connection, and
 * wait for two calls at most, however many more arrive.
 */
export class Batched<Item, Result> {
  readonly #handle: (items: readonly Item[]) => Promise<readonly Result[]>;
  #waiting: WaitingInput<Item, Result>[] = [];
  #busy = false;

  /** `handle` resolves with one result for each item, in their order. It is never called while a call is under way. */
  constructor(handle: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#handle = handle;
  }

  /** The result of one item. Rejects as the call it was part of. */
  get(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#busy) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      try {
        const results = await this.#handle(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#busy = false;
  }
}

/** Finds things by their key, with one call for all keys requested meanwhile. */
export function batchedFinder<Value>(
  find: (keys: readonly string[]) => Promise<readonly Value[]>,
  keyOf: (value: Value) => string,
): (key: string) => Promise<Value | null> {
  const batched = new Batched<string, Value | null>(async (keys) => {
    const byKey = new Map((await find([...new Set(keys)])).map((each) => [keyOf(each), each]));
    return keys.map((key) => byKey.get(key) ?? null);
  });
  return (key) => batched.get(key);
}
