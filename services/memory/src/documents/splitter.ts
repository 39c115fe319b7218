import path from 'node:path';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { ThreadPool } from '@gatehouse/threads/thread-pool';
import { splitMarkdown, splitPlain, type Passage } from './split-markdown.ts';

/**
 * Texts that are parsed where they are: short, and with little that can be markup. 8,192 characters of prose take about
 * a millisecond, but as many of nested markup take seconds.
 */
const inlineChars = 8_192;
const inlineMarks = 200;
/** A mebibyte of common Markdown takes under a second, but some texts take a parser minutes. */
const deadlineMs = 5_000;

const worker = path.join(import.meta.dirname, `split-worker${path.extname(import.meta.filename)}`);

/** Splits documents into passages without blocking the event loop. One tenant uses one thread at a time. */
export class Splitter {
  readonly #log: Logger;
  readonly #pool: ThreadPool<readonly string[], Passage[][]>;

  constructor(log: Logger, options: { deadlineMs?: number } = {}) {
    this.#log = log;
    this.#pool = new ThreadPool({
      file: worker,
      task: 'split',
      threads: 2,
      maxWaiting: 64,
      deadlineMs,
      ...options,
    });
  }

  /**
   * Text on which a Markdown parser fails, or that takes it too long, is split as plain text. Throws
   * `service_unavailable` when too many documents wait.
   */
  async split(text: string, tenantId: string): Promise<Passage[]> {
    try {
      if (isHarmless(text)) return splitMarkdown(text);
      const [passages = []] = await this.#pool.run(tenantId, [text]);
      return passages;
    } catch (error) {
      if (error instanceof AppError) throw error;
      this.#log.warn(
        { characters: text.length, tenant_id: tenantId, err: error },
        'failed to parse Markdown; split it as plain text',
      );
      return splitPlain(text);
    }
  }

  /**
   * Splits texts of a mebibyte together in one thread, so that many short ones don't block the event loop either. Waits
   * while too many documents are being split.
   */
  async splitAll(texts: readonly string[], tenantId: string): Promise<Passage[][]> {
    await this.#pool.untilFree();
    try {
      return await this.#pool.run(tenantId, texts);
    } catch (error) {
      this.#log.warn(
        { documents: texts.length, tenant_id: tenantId, err: error },
        'failed to parse Markdown; parse one by one',
      );
      const passages: Passage[][] = [];
      for (const text of texts) passages.push(await this.split(text, tenantId));
      return passages;
    }
  }

  async stop(): Promise<void> {
    await this.#pool.stop();
  }
}

function isHarmless(text: string): boolean {
  return text.length <= inlineChars && (text.match(/[^\p{L}\p{N}\s.,]/gu)?.length ?? 0) <= inlineMarks;
}
