import type { Logger } from '@gatehouse/kit/log';

export interface LastUseOptions {
  /** Writes the time of use, unless another replica wrote one within the minute. */
  touch: (id: string) => Promise<void>;
  log: Logger;
  /** As the log names them: API keys, by default. */
  of?: string;
}

/**
 * Records when keys are used, off the request path. A lost time of use does no harm, so only the first of several
 * failures in a row is logged.
 */
export class LastUse {
  readonly #options: LastUseOptions;
  readonly #writing = new Map<string, Promise<void>>();
  #failing = false;

  constructor(options: LastUseOptions) {
    this.#options = options;
  }

  note(id: string): void {
    if (this.#writing.has(id)) return;
    this.#writing.set(
      id,
      this.#write(id).finally(() => this.#writing.delete(id)),
    );
  }

  /** Resolves when no write is in progress. */
  async stop(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  async #write(id: string): Promise<void> {
    try {
      await this.#options.touch(id);
      this.#failing = false;
    } catch (error) {
      const { log, of = 'API keys' } = this.#options;
      if (!this.#failing) log.warn({ err: error }, `failed to record the last use of ${of}`);
      this.#failing = true;
    }
  }
}
