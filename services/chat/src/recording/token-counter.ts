import { countBy, countWorker } from '@gatehouse/dialects/usage/token-estimate';
import { Batched } from '@gatehouse/kit/batched';
import { monotonicMs, settledWithin } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { Sandbox } from '@gatehouse/sandbox/sandbox';
import {
  countDeadlineMs,
  counterIdleMs,
  counterRetryMs,
  countLogMs,
  countWaitMs,
  longestCounterRetryMs,
  maxCountedChars,
  maxCountedTexts,
} from '../bounds.ts';

/** One call at a time has the texts of all tenants. */
const allTenants = 'all';

export interface TokenCounterOptions {
  log: Logger;
  /** Default: `countWaitMs`. */
  waitMs?: number | undefined;
  /** Runs the process. Default: a sandbox with the tokenizer. */
  sandbox?: Pick<Sandbox<readonly string[], number[]>, 'run' | 'stop'>;
}

/**
 * Counts tokens for estimates of this process, in a child process: the tokenizer takes 70 MB, and 30 ms for 10,000
 * characters at worst. The child starts with the first text, and texts waiting go to it together. A client waits for a
 * count no longer than `waitMs`, whether or not the child has started.
 */
export class TokenCounter {
  readonly #log: Logger;
  readonly #waitMs: number;
  readonly #sandbox: NonNullable<TokenCounterOptions['sandbox']>;
  readonly #counts = new Batched<string, number>((texts) => this.#countAll(texts));
  #texts = 0;
  #chars = 0;
  #failures = 0;
  #retryAt = -Infinity;
  #loggedAt = -Infinity;

  constructor({ log, waitMs = countWaitMs, sandbox }: TokenCounterOptions) {
    this.#log = log;
    this.#waitMs = waitMs;
    this.#sandbox =
      sandbox ??
      new Sandbox({
        ...{ file: countWorker, task: 'countAll', processes: 1, maxHeapMiB: 192, maxWaiting: 1 },
        ...{ deadlineMs: countDeadlineMs, idleMs: counterIdleMs },
      });
  }

  /** From now on, also after `stop`, no estimate of this process is counted on the event loop. */
  start(): void {
    countBy((text) => this.count(text));
  }

  stop(): Promise<void> {
    return this.#sandbox.stop();
  }

  /** Null if too many texts wait, the child fails, has failed a moment ago or is stopped, or the count takes too long. */
  async count(text: string): Promise<number | null> {
    if (this.#texts >= maxCountedTexts || this.#chars + text.length > maxCountedChars)
      return this.#failed(new Error('too many texts wait'));
    this.#texts += 1;
    this.#chars += text.length;
    const result: { tokens?: number | null } = {};
    const counted = this.#counts
      .get(text)
      .catch((error: unknown) => this.#failed(error))
      .then((tokens) => {
        this.#texts -= 1;
        this.#chars -= text.length;
        result.tokens = tokens;
      });
    await settledWithin(counted, this.#waitMs);
    return result.tokens === undefined ? this.#failed(new Error('the count takes too long')) : result.tokens;
  }

  /** A failed child is not started again for each text: first after a second, then after twice as long each time. */
  async #countAll(texts: readonly string[]): Promise<number[]> {
    if (monotonicMs() < this.#retryAt) throw new Error('the process that counts has failed');
    try {
      const counts = await this.#sandbox.run(allTenants, texts);
      this.#failures = 0;
      return counts;
    } catch (error) {
      this.#retryAt = monotonicMs() + Math.min(counterRetryMs * 2 ** this.#failures, longestCounterRetryMs);
      this.#failures += 1;
      throw error;
    }
  }

  #failed(err: unknown): null {
    const now = monotonicMs();
    if (now - this.#loggedAt < countLogMs) return null;
    this.#loggedAt = now;
    this.#log.warn({ err }, 'failed to count tokens; guess them by bytes');
    return null;
  }
}
