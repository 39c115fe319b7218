/** Calls in flight by key: concurrent requests for one key share one call. Keeps no results. */
export class SharedCalls<Value> {
  readonly #calls = new Map<string, Promise<Value>>();

  async get(key: string, load: () => Promise<Value>): Promise<Value> {
    const underWay = this.#calls.get(key);
    if (underWay !== undefined) return underWay;
    const call = load().finally(() => this.#calls.delete(key));
    this.#calls.set(key, call);
    return call;
  }
}
