import { sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { maxWaitingUses, usesPerWrite } from '../bounds.ts';

export interface LastUseWriterOptions {
  /**
   * Writes the time of use of up to `usesPerWrite` ids, unless another replica has written one lately. May return ids to
   * write again.
   */
  touch: (ids: readonly string[]) => Promise<readonly string[]> | Promise<void>;
  log: Logger;
  /** As the log names them: API keys, by default. */
  subject?: string;
  /** Default: a second. */
  pauseMs?: number;
}

/** Pause after a write: each replica has one small transaction a second, however many keys are used. */
const pauseMs = 1_000;

/**
 * Records when keys are used, off the request path: at once after a pause without writes, and else together with all
 * uses until the next write. A failed write is repeated; of several failures in a row only the first is logged.
 */
export class LastUseWriter {
  readonly #options: LastUseWriterOptions;
  readonly #waiting = new Set<string>();
  readonly #stopping = new AbortController();
  #writing: Promise<void> = Promise.resolve();
  #isRunning = false;
  #failing = false;

  constructor(options: LastUseWriterOptions) {
    this.#options = options;
  }

  note(id: string): void {
    if (this.#waiting.size >= maxWaitingUses) return;
    this.#waiting.add(id);
    if (!this.#isRunning) this.#writing = this.#run();
  }

  /** Resolves when all is written, or has failed once more. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#writing;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      const ids = [...this.#waiting.values().take(usesPerWrite)];
      for (const id of ids) this.#waiting.delete(id);
      const left = await this.#write(ids);
      if (!this.#stopping.signal.aborted) for (const id of left) this.note(id);
      if (left.length > 0 || this.#waiting.size < usesPerWrite) await this.#pause();
    }
    this.#isRunning = false;
  }

  #pause(): Promise<void> {
    const { pauseMs: ms = pauseMs } = this.#options;
    return sleep(ms, this.#stopping.signal).catch(() => undefined);
  }

  /** Returns the ids to be written again. */
  async #write(ids: readonly string[]): Promise<readonly string[]> {
    try {
      const left = await this.#options.touch(ids);
      this.#failing = false;
      return left ?? [];
    } catch (error) {
      const { log, subject = 'API keys' } = this.#options;
      if (!this.#failing) log.warn({ err: error }, `failed to record the last use of ${subject}`);
      this.#failing = true;
      return ids;
    }
  }
}
