import path from 'node:path';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { Tinypool } from 'tinypool';
import { splitMarkdown, splitPlain, type Passage } from './split-markdown.ts';

/** Parsing takes about a millisecond for each 5,000 characters. Longer texts are parsed in a worker thread. */
const inlineChars = 8_192;
/** A mebibyte of common Markdown takes under a second, but some texts take a parser minutes. */
const deadlineMs = 5_000;
const maxThreads = 2;
const maxQueue = 64;
const idleMs = 10_000;
const queuePauseMs = 50;

const worker = path.join(import.meta.dirname, `split-worker${path.extname(import.meta.filename)}`);

/** Splits documents into passages without blocking the event loop. */
export class Splitter {
  readonly #log: Logger;
  readonly #deadlineMs: number;
  #pool: Tinypool | undefined;

  constructor(log: Logger, options: { deadlineMs?: number } = {}) {
    this.#log = log;
    this.#deadlineMs = options.deadlineMs ?? deadlineMs;
  }

  /** Text on which a Markdown parser fails, or that takes it too long, is split as plain text. */
  async split(text: string): Promise<Passage[]> {
    try {
      if (text.length <= inlineChars) return splitMarkdown(text);
      const [passages = []] = await this.#inThread([text]);
      return passages;
    } catch (error) {
      if (error instanceof AppError) throw error;
      this.#log.warn(
        { characters: text.length, err: error },
        'failed to parse Markdown; split it as plain text',
      );
      return splitPlain(text);
    }
  }

  /**
   * Splits texts of a mebibyte together in one thread, so that many short ones don't block the event loop either. Waits
   * while too many documents are being split.
   */
  async splitAll(texts: readonly string[]): Promise<Passage[][]> {
    while ((this.#pool?.queueSize ?? 0) >= maxQueue) await sleep(queuePauseMs);
    try {
      return await this.#inThread(texts);
    } catch (error) {
      this.#log.warn({ documents: texts.length, err: error }, 'failed to parse Markdown; parse one by one');
      const passages: Passage[][] = [];
      for (const text of texts) passages.push(await this.split(text));
      return passages;
    }
  }

  async stop(): Promise<void> {
    await this.#pool?.destroy();
  }

  async #inThread(texts: readonly string[]): Promise<Passage[][]> {
    this.#pool ??= new Tinypool({
      filename: worker,
      runtime: 'worker_threads',
      minThreads: 0,
      maxThreads,
      maxQueue,
      idleTimeout: idleMs,
    });
    if (this.#pool.queueSize >= maxQueue)
      throw new AppError('service_unavailable', 'Too many documents are being split. Try again shortly.', {
        headers: { 'retry-after': '1' },
      });
    const signal = AbortSignal.timeout(this.#deadlineMs);
    return (await this.#pool.run(texts, { signal, name: 'split' })) as Passage[][];
  }
}
