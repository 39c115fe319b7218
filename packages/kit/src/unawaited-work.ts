import { forEveryone } from './caller-signal.ts';
import { settledWithin } from './clock.ts';

/** Time a stopping service waits for the work. */
const longestStopMs = 5_000;

/** Work without a waiting request. A stopping service lets it end. */
export class UnawaitedWork {
  readonly #idle = Promise.withResolvers<undefined>();
  #underWay = 0;
  #isStopping = false;

  /** Begins work, and returns at once. `onError` gets what the work throws. */
  begin(work: () => Promise<void>, onError: (error: unknown) => void): void {
    void this.#run(work, onError);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#endIfIdle();
    await settledWithin(this.#idle.promise, longestStopMs);
  }

  async #run(work: () => Promise<void>, onError: (error: unknown) => void): Promise<void> {
    this.#underWay += 1;
    try {
      await forEveryone(work);
    } catch (error) {
      onError(error);
    }
    this.#underWay -= 1;
    this.#endIfIdle();
  }

  #endIfIdle(): void {
    if (this.#isStopping && this.#underWay === 0) this.#idle.resolve(undefined);
  }
}
