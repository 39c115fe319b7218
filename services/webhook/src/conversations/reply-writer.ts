import path from 'node:path';
import type { Logger } from '@gatehouse/kit/log';
import { AppError } from '@gatehouse/kit/errors';
import { Sandbox } from '@gatehouse/sandbox/sandbox';
import type { MarkdownReply, Piece } from './reply-pieces.ts';
import type { Writing } from './reply-worker.ts';

const file = path.join(import.meta.dirname, `reply-worker${path.extname(import.meta.filename)}`);

/** Writes answers as messages of a provider, in a sandbox: Markdown of a model may take long to parse. */
export class ReplyWriter {
  readonly #sandbox = new Sandbox<Writing, Piece[]>({
    ...{ file, task: 'write', processes: 2, maxHeapMiB: 64 },
    ...{ maxWaiting: 1_024, maxWaitingPerTenant: 64, deadlineMs: 2_000 },
  });

  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  async stop(): Promise<void> {
    await this.#sandbox.stop();
  }

  /** Throws `service_unavailable` when too many answers wait. */
  async write(tenantId: string, answer: MarkdownReply): Promise<Piece[]> {
    try {
      return await this.#sandbox.run(tenantId, { answer, plain: false });
    } catch (error) {
      if (error instanceof AppError) throw error;
      // The process was ended at its deadline, or ran out of memory.
      this.#log.warn({ err: error, tenant_id: tenantId }, 'failed to format an answer');
      return this.#sandbox.run(tenantId, { answer, plain: true });
    }
  }
}
