import { forEveryone } from './caller-signal.ts';

/** Shares one call between concurrent requests for the same key. Keeps no results. */
export class SharedCalls<Value> {
  readonly #calls = new Map<string, Promise<Value>>();

  async get(key: string, load: () => Promise<Value>): Promise<Value> {
    const inFlight = this.inFlight(key);
    if (inFlight !== undefined) return inFlight;
    const call = forEveryone(load).finally(() => this.#calls.delete(key));
    this.#calls.set(key, call);
    return call;
  }

  /** The running call for a key. */
  inFlight(key: string): Promise<Value> | undefined {
    return this.#calls.get(key);
  }
}
