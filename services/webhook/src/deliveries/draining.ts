import { maxInFlight } from './delivery.ts';

/** Takes what is due and sends it, several at a time. Each that is taken lets another one be looked for. */
export class Draining<Due = unknown> {
  readonly #take: () => Promise<Due | null>;
  readonly #send: (due: Due) => Promise<void>;
  readonly #active = new Set<Promise<void>>();
  #failures: unknown[] = [];

  constructor(take: () => Promise<Due | null>, send: (due: Due) => Promise<void>) {
    this.#take = take;
    this.#send = send;
  }

  /** Looks for what is due now. */
  add(): void {
    if (this.#active.size >= maxInFlight) return;
    const drain = this.#drain()
      .catch((error: unknown) => {
        this.#failures.push(error);
      })
      .finally(() => this.#active.delete(drain));
    this.#active.add(drain);
  }

  /** Resolves when all that was taken is sent and nothing more is due. Throws the first failure then. */
  async ended(): Promise<void> {
    while (this.#active.size > 0) await Promise.all(this.#active);
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  async #drain(): Promise<void> {
    for (let due = await this.#take(); due !== null; due = await this.#take()) {
      this.add();
      await this.#send(due);
    }
  }
}
