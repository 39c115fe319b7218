import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { isDatabaseOutage } from '@gatehouse/pg/errors';
import type { Pool } from '@gatehouse/pg/pool';
import { insertEnds, insertStarts, type EndRow, type StartRow } from '../store/run-system-store.ts';
import { GroupCommit } from './group-commit.ts';
import type { Instance } from './instance.ts';

/** How long a client's last byte waits for its run's end to be committed. */
const longestHoldMs = 10_000;
const retryEveryMs = 500;
/** How long stopping waits for ends. */
const longestStopMs = 5_000;
/** Ends kept for later while the database is away: about 2 kB each. */
const maxDelayedEnds = 20_000;
const maxGroup = 256;

interface DelayedEnd {
  row: EndRow;
  committed: () => void;
}

/**
 * Writes down every run before its provider is called and when it ends, so that neither a crash nor a cut stream loses
 * usage. Many requests share one commit.
 */
export class Meter {
  readonly #instance: Instance;
  readonly #log: Logger;
  readonly #starts: GroupCommit<StartRow>;
  readonly #ends: GroupCommit<EndRow>;
  /** Runs of this process that have no committed end yet. */
  readonly #open = new Set<string>();
  #delayed: DelayedEnd[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(pool: Pool, instance: Instance, log: Logger) {
    this.#instance = instance;
    this.#log = log;
    const options = { isOutage: isDatabaseOutage, maxItems: maxGroup };
    this.#starts = new GroupCommit({ ...options, commit: (rows) => this.#commitStarts(pool, rows) });
    this.#ends = new GroupCommit({ ...options, commit: (rows) => insertEnds(pool, rows) });
  }

  start(): void {
    this.#timer = setInterval(() => this.#retryDelayed(), retryEveryMs);
  }

  /** Waits for ends that are still being counted or committed; what remains is found and reaped later. */
  async stop(): Promise<void> {
    const giveUpAt = monotonicMs() + longestStopMs;
    while (this.#open.size > 0 && monotonicMs() < giveUpAt) await sleep(20);
    clearInterval(this.#timer);
    await Promise.all([this.#starts.idle(), this.#ends.idle()]);
    if (this.#open.size > 0) this.#log.error({ runs: this.openRuns }, 'stopped with runs that have no end');
  }

  get openRuns(): readonly string[] {
    return [...this.#open];
  }

  /** Commits a provider call before it is made. Throws `database_unavailable`: what can't be billed isn't called. */
  async startAttempt(row: StartRow): Promise<void> {
    this.#open.add(row.run.id);
    await this.#starts.submit(row);
  }

  /**
   * Commits the end of a run. Resolves once it is committed, at the latest after ten seconds: the end stays queued
   * then and is committed when the database is back.
   */
  async endRun(row: EndRow): Promise<void> {
    try {
      await this.#ends.submit(row);
      this.#open.delete(row.run.id);
    } catch (error) {
      await this.#delay(row, error);
    }
  }

  async #commitStarts(pool: Pool, rows: readonly StartRow[]): Promise<void> {
    const { id } = this.#instance;
    if (await insertStarts(pool, id, rows)) return;
    await this.#instance.renew(id);
    if (await insertStarts(pool, this.#instance.id, rows)) return;
    throw new AppError('database_unavailable', 'The request could not be recorded. Try again shortly.');
  }

  async #delay(row: EndRow, error: unknown): Promise<void> {
    const fields = { err: error, run_id: row.run.id, tenant_id: row.run.tenantId };
    if (!isDatabaseOutage(error) || this.#delayed.length >= maxDelayedEnds) {
      this.#open.delete(row.run.id);
      this.#log.error(fields, 'the end of a run was not recorded; it will be reaped as interrupted');
      return;
    }
    this.#log.warn(fields, 'the end of a run waits for the database');
    const patience = new AbortController();
    const committed = new Promise<void>((resolve) => this.#delayed.push({ row, committed: resolve }));
    await Promise.race([committed, sleep(longestHoldMs, patience.signal).catch(() => undefined)]);
    patience.abort();
  }

  #retryDelayed(): void {
    for (const delayed of this.#delayed.splice(0)) {
      this.#ends.submit(delayed.row).then(
        () => {
          this.#open.delete(delayed.row.run.id);
          delayed.committed();
        },
        () => this.#delayed.push(delayed),
      );
    }
  }
}
