import { countBy, countWorker } from '@gatehouse/dialects/usage/token-estimate';
import { Batched } from '@gatehouse/kit/batched';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { Sandbox } from '@gatehouse/sandbox/sandbox';
import { countDeadlineMs, counterIdleMs, countLogMs, maxCountedChars, maxCountedTexts } from '../bounds.ts';

/** One call at a time has the texts of all tenants. */
const allTenants = 'all';

/**
 * Counts tokens for estimates of this process, in a child process: the tokenizer takes 70 MB, and 30 ms for 10,000
 * characters at worst. The child starts with the first text, and texts waiting go to it together.
 */
export class TokenCounter {
  readonly #log: Logger;
  readonly #sandbox = new Sandbox<readonly string[], number[]>({
    ...{ file: countWorker, task: 'countAll', processes: 1, maxHeapMiB: 192, maxWaiting: 1 },
    ...{ deadlineMs: countDeadlineMs, idleMs: counterIdleMs },
  });
  readonly #counts = new Batched<string, number>((texts) => this.#sandbox.run(allTenants, texts));
  #texts = 0;
  #chars = 0;
  #loggedAt = -Infinity;

  constructor(log: Logger) {
    this.#log = log;
  }

  start(): void {
    countBy((text) => this.count(text));
  }

  async stop(): Promise<void> {
    countBy();
    await this.#sandbox.stop();
  }

  /** Null if too many texts wait, or the child fails or takes too long. */
  async count(text: string): Promise<number | null> {
    if (this.#texts >= maxCountedTexts || this.#chars + text.length > maxCountedChars)
      return this.#failed(new Error('too many texts wait'));
    this.#texts += 1;
    this.#chars += text.length;
    try {
      return await this.#counts.get(text);
    } catch (err) {
      return this.#failed(err);
    } finally {
      this.#texts -= 1;
      this.#chars -= text.length;
    }
  }

  #failed(err: unknown): null {
    const now = monotonicMs();
    if (now - this.#loggedAt < countLogMs) return null;
    this.#loggedAt = now;
    this.#log.warn({ err }, 'failed to count tokens; guess them by characters');
    return null;
  }
}
