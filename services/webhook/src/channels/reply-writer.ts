import path from 'node:path';
import type { Logger } from '@gatehouse/kit/log';
import { AppError } from '@gatehouse/kit/errors';
import { ThreadPool } from '@gatehouse/threads/thread-pool';
import { unformatted, type Answer, type Piece } from './reply-pieces.ts';

const file = path.join(import.meta.dirname, `reply-worker${path.extname(import.meta.filename)}`);

/** Writes answers as messages of a provider, in worker threads: Markdown of a model may take long to parse. */
export class ReplyWriter {
  readonly #pool: ThreadPool<Answer, Piece[]>;
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
    const waiting = { maxWaiting: 1_024, maxWaitingPerTenant: 64 };
    this.#pool = new ThreadPool({
      file,
      task: 'piecesOf',
      threads: 1,
      ...waiting,
      maxHeapMiB: 128,
      deadlineMs: 3_000,
    });
  }

  async stop(): Promise<void> {
    await this.#pool.stop();
  }

  /** Throws `service_unavailable` when too many answers wait. */
  async write(tenantId: string, answer: Answer): Promise<Piece[]> {
    try {
      return await this.#pool.run(tenantId, answer);
    } catch (error) {
      if (error instanceof AppError) throw error;
      // The thread was ended at its deadline, or ran out of memory.
      this.#log.warn({ err: error, tenant_id: tenantId }, 'failed to format an answer');
      return unformatted(answer.markdown, answer);
    }
  }
}
