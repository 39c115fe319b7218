import path from 'node:path';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { Sandbox } from '@gatehouse/sandbox/sandbox';
import { isOnePassage, splitPlain, type Passage } from './split-markdown.ts';
import type { Splitting } from './split-worker.ts';

/** A mebibyte of common Markdown takes under a second of processor time, but some texts take a parser minutes. */
const deadline = { ms: 1_000, msPerMiB: 4_000 };
const pauseMs = 50;

const file = path.join(import.meta.dirname, `split-worker${path.extname(import.meta.filename)}`);

/** Splits documents into passages. Text is parsed in a sandbox, whatever it contains. */
export class Splitter {
  readonly #log: Logger;
  readonly #sandbox = new Sandbox<Splitting, Passage[][]>({
    ...{ file, task: 'split', processes: 2, maxHeapMiB: 128 },
    ...{ maxWaiting: 64, maxWaitingPerTenant: 48, deadlineMs: deadline.ms },
  });

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Text is split as plain text if a Markdown parser fails on it or takes too long. Throws `service_unavailable` when
   * too many documents wait.
   */
  async split(text: string, tenantId: string): Promise<Passage[]> {
    if (isOnePassage(text)) return splitPlain(text);
    try {
      return await this.#parse([text], tenantId).then(first);
    } catch (error) {
      if (error instanceof AppError) throw error;
      this.#log.warn(
        { characters: text.length, tenant_id: tenantId, err: error },
        'failed to parse Markdown; split it as plain text',
      );
      return this.#sandbox.run(tenantId, { texts: [text], plain: true }).then(first);
    }
  }

  /**
   * Splits texts of a mebibyte together, and one by one if this fails. Waits while too many documents are being split.
   */
  async splitAll(texts: readonly string[], tenantId: string): Promise<Passage[][]> {
    try {
      return await untilFree(() => this.#parse(texts, tenantId));
    } catch (error) {
      this.#log.warn(
        { documents: texts.length, tenant_id: tenantId, err: error },
        'failed to parse Markdown; parse one by one',
      );
      const passages: Passage[][] = [];
      for (const text of texts) passages.push(await untilFree(() => this.split(text, tenantId)));
      return passages;
    }
  }

  async stop(): Promise<void> {
    await this.#sandbox.stop();
  }

  #parse(texts: readonly string[], tenantId: string): Promise<Passage[][]> {
    const characters = texts.reduce((sum, { length }) => sum + length, 0);
    const deadlineMs = deadline.ms + (deadline.msPerMiB * characters) / 2 ** 20;
    return this.#sandbox.run(tenantId, { texts, plain: false }, { deadlineMs: Math.ceil(deadlineMs) });
  }
}

function first([passages = []]: Passage[][]): Passage[] {
  return passages;
}

async function untilFree<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      await sleep(pauseMs);
    }
  }
}
