/**
 * Calls with nothing but returns of leases, one after the other for all tenants: no request waits for them, and they share
 * the few connections of the tenant service with those of requests. A tenant is in here once.
 */
export class ReturnCalls {
  readonly #waiting: (() => Promise<void>)[] = [];
  #isRunning = false;

  /** `call` must not fail. */
  add(call: () => Promise<void>): void {
    this.#waiting.push(call);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let call = this.#waiting.shift(); call !== undefined; call = this.#waiting.shift()) await call();
    this.#isRunning = false;
  }
}
