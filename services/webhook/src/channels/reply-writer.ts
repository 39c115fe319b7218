import path from 'node:path';
import type { Logger } from '@gatehouse/kit/log';
import { AppError } from '@gatehouse/kit/errors';
import { ThreadPool } from '@gatehouse/threads/thread-pool';
import type { Answer, Piece } from './reply-pieces.ts';
import { escaped } from './reply-style.ts';

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
      return unformatted(answer);
    }
  }
}

/** The answer as it is, cut into messages. */
function unformatted({ markdown, style, maxChars }: Answer): Piece[] {
  const characters = Array.from(markdown);
  // What is escaped gets longer, at most fivefold.
  const size = Math.floor(maxChars / 6);
  const count = Math.ceil(characters.length / size);
  return Array.from({ length: count }, (_, index) => {
    const plainText = characters.slice(index * size, (index + 1) * size).join('');
    return { text: escaped(plainText, style), plainText };
  });
}
