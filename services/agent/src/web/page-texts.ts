import path from 'node:path';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { Sandbox } from '@gatehouse/sandbox/sandbox';
import type { PageInput, PageText } from './page-worker.ts';

const worker = path.join(import.meta.dirname, `page-worker${path.extname(import.meta.filename)}`);

/** Reads the text of HTML pages in a sandbox. */
export class PageTexts {
  readonly #sandbox = new Sandbox<PageInput, PageText>({
    ...{ file: worker, task: 'readPage', processes: 2, maxWaiting: 64, maxWaitingPerTenant: 16 },
    ...{ deadlineMs: 5_000, maxHeapMiB: 192 },
  });

  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Null if it takes too long, or needs too much memory. Throws `service_unavailable`. */
  async read(tenantId: string, input: PageInput): Promise<PageText | null> {
    try {
      return await this.#sandbox.run(tenantId, input);
    } catch (error) {
      if (error instanceof AppError) throw error;
      const failure = error instanceof Error ? error.name : 'unknown';
      // Not its message, which may have parts of the page.
      this.#log.warn({ failure, tenant_id: tenantId }, 'failed to read the text of a page');
      return null;
    }
  }

  stop(): Promise<void> {
    return this.#sandbox.stop();
  }
}
