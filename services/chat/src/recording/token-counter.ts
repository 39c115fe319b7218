import { countBy, countWorker } from '@gatehouse/dialects/usage/token-estimate';
import { Batched } from '@gatehouse/kit/batched';
import { monotonicMs, settledWithin } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { Sandbox } from '@gatehouse/sandbox/sandbox';
import { RecentMap } from '@gatehouse/kit/recent-map';
import {
  countDeadlineMs,
  counterIdleMs,
  counterRetryMs,
  countLogMs,
  countWaitMs,
  longestCounterRetryMs,
  maxCounted,
  maxNamed,
} from '../bounds.ts';

export interface TokenCounterOptions {
  log: Logger;
  /** Default: `countWaitMs`. */
  waitMs?: number | undefined;
  /** Runs the process. Default: a sandbox with the tokenizer. */
  sandbox?: Pick<Sandbox<readonly string[], number[]>, 'run' | 'stop'>;
}

/** After a failure, a pause of a second, then of twice as long each time. */
class Backoff {
  #failures = 0;
  #retryAt = -Infinity;

  get isOver(): boolean {
    return monotonicMs() >= this.#retryAt;
  }

  fail(): void {
    this.#retryAt = monotonicMs() + Math.min(counterRetryMs * 2 ** this.#failures, longestCounterRetryMs);
    this.#failures += 1;
  }

  reset(): void {
    this.#failures = 0;
  }
}

/** Texts under way or waiting. */
class WaitingTexts {
  #texts = 0;
  #chars = 0;
  readonly #most: { texts: number; chars: number };

  constructor(most: { texts: number; chars: number }) {
    this.#most = most;
  }

  get isEmpty(): boolean {
    return this.#texts === 0;
  }

  fits(text: string, most = this.#most): boolean {
    return this.#texts < most.texts && this.#chars + text.length <= most.chars;
  }

  add(text: string): void {
    this.#texts += 1;
    this.#chars += text.length;
  }

  remove(text: string): void {
    this.#texts -= 1;
    this.#chars -= text.length;
  }
}

/** The texts of a tenant: waiting ones go to the process together. */
interface TenantTexts {
  waiting: WaitingTexts;
  counts: Batched<string, number>;
}

/**
 * Counts tokens for estimates of this process, in a child process: the tokenizer takes 70 MB, and 30 ms for 10,000
 * characters at worst. The child starts with the first text. Tenants take turns at it, each with a tenth of the bounds;
 * once these are reached, a tenant with less than an equal part still has its texts counted. Texts of a tenant waiting go
 * to the child together. A client waits for a count no longer than `waitMs`, whether or not the child has started.
 */
export class TokenCounter {
  readonly #log: Logger;
  readonly #waitMs: number;
  readonly #sandbox: NonNullable<TokenCounterOptions['sandbox']>;
  readonly #tenants = new RecentMap<TenantTexts>(maxNamed);
  readonly #waiting = new WaitingTexts(maxCounted.all);
  /** Tenants with texts under way or waiting. */
  #busy = 0;
  readonly #backoff = new Backoff();
  /** The tenant of the last count if it failed. */
  #failedTenant: string | null = null;
  #loggedAt = -Infinity;

  constructor({ log, waitMs = countWaitMs, sandbox }: TokenCounterOptions) {
    this.#log = log;
    this.#waitMs = waitMs;
    const maxWaiting = maxCounted.all.texts;
    this.#sandbox =
      sandbox ??
      new Sandbox({
        ...{ file: countWorker, task: 'countAll', processes: 1, maxHeapMiB: 192, maxWaiting },
        ...{ deadlineMs: countDeadlineMs, idleMs: counterIdleMs },
      });
  }

  /** From now on, also after `stop`, no estimate of this process is counted on the event loop. */
  start(): void {
    countBy((text, tenantId) => this.count(text, tenantId));
  }

  stop(): Promise<void> {
    return this.#sandbox.stop();
  }

  /** Null if too many texts wait, the child fails, has failed a moment ago or is stopped, or the count takes too long. */
  async count(text: string, tenantId: string): Promise<number | null> {
    const tenant = this.#tenants.getOrMake(tenantId, () => this.#textsOf(tenantId));
    if (!this.#hasRoom(tenant.waiting, text)) return this.#failed(new Error('too many texts wait'));
    const bounds = [tenant.waiting, this.#waiting];
    if (tenant.waiting.isEmpty) this.#busy += 1;
    for (const waiting of bounds) waiting.add(text);
    const result: { tokens?: number | null } = {};
    const counted = tenant.counts
      .get(text)
      .catch((error: unknown) => this.#failed(error))
      .then((tokens) => {
        for (const waiting of bounds) waiting.remove(text);
        if (tenant.waiting.isEmpty) this.#busy -= 1;
        result.tokens = tokens;
      });
    await settledWithin(counted, this.#waitMs);
    return result.tokens === undefined ? this.#failed(new Error('the count takes too long')) : result.tokens;
  }

  /** Earlier tenants leave room for one with less: as much again as the bounds of all. */
  #hasRoom(waiting: WaitingTexts, text: string): boolean {
    if (!waiting.fits(text)) return false;
    const times = (factor: number) => ({ texts: texts * factor, chars: chars * factor });
    const { texts, chars } = maxCounted.all;
    if (this.#waiting.fits(text)) return true;
    return waiting.fits(text, times(1 / (this.#busy + 1))) && this.#waiting.fits(text, times(2));
  }

  #textsOf(tenantId: string): TenantTexts {
    const backoff = new Backoff();
    const countAll = (texts: readonly string[]): Promise<number[]> =>
      this.#countAll(texts, tenantId, backoff);
    return { waiting: new WaitingTexts(maxCounted.tenant), counts: new Batched(countAll) };
  }

  /** A failed child is not started again for each text of its tenant, nor for others once two tenants failed in a row. */
  async #countAll(texts: readonly string[], tenantId: string, backoff: Backoff): Promise<number[]> {
    if (!backoff.isOver || !this.#backoff.isOver) throw new Error('the process that counts has failed');
    try {
      const counts = await this.#sandbox.run(tenantId, texts);
      backoff.reset();
      this.#backoff.reset();
      this.#failedTenant = null;
      return counts;
    } catch (error) {
      backoff.fail();
      if (this.#failedTenant !== null && this.#failedTenant !== tenantId) this.#backoff.fail();
      this.#failedTenant = tenantId;
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
