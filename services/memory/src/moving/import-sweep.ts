import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';

/** An import by its generation. */
interface ImportRef {
  tenantId: string;
  agentId: string;
  generation: number;
}

export interface ImportSweepOptions<State> {
  /** Imports with something left to do. */
  unfinished: (limit: number) => Promise<ImportRef[]>;
  /** Discards an import, or only a dead one, unless it is published. Returns its state; null if nothing is left. */
  discard: (ref: ImportRef, options: { onlyDead: boolean }) => Promise<State | null>;
  /** Removes what is left of an import. */
  finish: (ref: ImportRef, state: State, signal: AbortSignal) => Promise<void>;
  log: Logger;
}

const batchSize = 20;

/**
 * Removes the remains of imports: replaced documents, and documents stored by a failed import. Requests do it as they
 * end; a sweep at the start and every minute does it for requests of a killed service.
 */
export class ImportSweep<State> {
  readonly #options: ImportSweepOptions<State>;
  readonly #sweep: PeriodicWork;
  readonly #stopping = new AbortController();
  readonly #ending = new Set<Promise<unknown>>();

  constructor(options: ImportSweepOptions<State>) {
    this.#options = options;
    this.#sweep = new PeriodicWork({
      task: 'finish imports',
      log: options.log,
      firstMs: 1_000,
      everyMs: 60_000,
      round: () => this.#round(),
    });
  }

  start(): void {
    this.#sweep.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#sweep.stop();
    await Promise.all(this.#ending);
  }

  /** Removes the remains of an import at the end of its request. Returns at once. */
  end(ref: ImportRef): void {
    const ending: Promise<unknown> = this.#finish(ref, false).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  async #round(): Promise<boolean> {
    const unfinished = await this.#options.unfinished(batchSize);
    let finished = 0;
    for (const ref of unfinished) finished += (await this.#finish(ref, true)) ? 1 : 0;
    return finished === batchSize;
  }

  /** Returns whether it succeeded. */
  async #finish(ref: ImportRef, onlyDead: boolean): Promise<boolean> {
    const { discard, finish, log } = this.#options;
    const { signal } = this.#stopping;
    if (signal.aborted) return false;
    try {
      const state = await discard(ref, { onlyDead });
      if (state !== null) await finish(ref, state, signal);
      return true;
    } catch (error) {
      log.warn({ err: error, tenant_id: ref.tenantId }, 'failed to finish an import');
      return false;
    }
  }
}
