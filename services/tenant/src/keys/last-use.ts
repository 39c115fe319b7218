import { sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';

export interface LastUseOptions {
  /** Writes the time of use of up to `maxPerWrite` ids, unless another replica has written one lately. */
  touch: (ids: readonly string[]) => Promise<void>;
  log: Logger;
  /** As the log names them: API keys, by default. */
  of?: string;
  /** Default: a second. */
  pauseMs?: number;
}

/** Uses that wait to be written. Further ones are dropped: a key is noted again at its next look-up. */
const maxWaiting = 50_000;
const maxPerWrite = 1_000;
/** After a write, so that each replica has one small transaction a second, however many keys are used. */
const pauseMs = 1_000;

/**
 * Records when keys are used, off the request path: at once if nothing was written lately, and else together with all
 * that are used until the next write. A lost time of use does no harm, so only the first of several failures in a row is
 * logged.
 */
export class LastUse {
  readonly #options: LastUseOptions;
  readonly #waiting = new Set<string>();
  readonly #stopping = new AbortController();
  #writing: Promise<void> = Promise.resolve();
  #isRunning = false;
  #failing = false;

  constructor(options: LastUseOptions) {
    this.#options = options;
  }

  note(id: string): void {
    if (this.#waiting.size >= maxWaiting) return;
    this.#waiting.add(id);
    if (!this.#isRunning) this.#writing = this.#run();
  }

  /** Resolves when all is written. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#writing;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      const ids = [...this.#waiting.values().take(maxPerWrite)];
      for (const id of ids) this.#waiting.delete(id);
      await this.#write(ids);
      if (this.#waiting.size < maxPerWrite) await this.#pause();
    }
    this.#isRunning = false;
  }

  #pause(): Promise<void> {
    const { pauseMs: ms = pauseMs } = this.#options;
    return sleep(ms, this.#stopping.signal).catch(() => undefined);
  }

  async #write(ids: readonly string[]): Promise<void> {
    try {
      await this.#options.touch(ids);
      this.#failing = false;
    } catch (error) {
      const { log, of = 'API keys' } = this.#options;
      if (!this.#failing) log.warn({ err: error }, `failed to record the last use of ${of}`);
      this.#failing = true;
    }
  }
}
