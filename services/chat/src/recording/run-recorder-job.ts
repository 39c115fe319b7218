import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
import { isDatabaseOutage } from '@gatehouse/pg/errors';
import type { Pool } from '@gatehouse/pg/pool';
import type { RunWriter } from './active-run.ts';
import { correctEnds, insertEnds } from './run-end-system-store.ts';
import type { EndRow, StartRow } from './run-rows.ts';
import { insertOpen, insertStarts, NothingWrittenError } from './run-system-store.ts';
import type { Alerts } from '../alerts/alerts-job.ts';
import { GroupCommit } from '../shared/group-commit.ts';
import type { Instance } from './instance-job.ts';

/** How long a client's last byte waits for the commit of its run's end. */
const longestHoldMs = 10_000;
const tickMs = 500;
/** A start event is published for runs that take longer. Shorter runs have an end event only. */
const publishStartMs = 500;
/** How long stopping waits for ends. */
const longestStopMs = 5_000;
/** Ends kept for later while the database is away: about 2 kB each. */
const maxDelayedEnds = 20_000;
const maxGroup = 256;
/** How long an end is retried that found no run, since the start may yet be written. */
const lateStartMs = 60_000;
const lateEveryMs = 5_000;

interface PendingStart {
  row: StartRow;
  refused: boolean;
}

/** A start that may have been written, or that a hung database server may yet write. */
interface DoubtfulStart {
  /** The end of its run, which has found no run so far. */
  end: EndRow | null;
  retryAt: number;
  giveUpAt: number;
}

/**
 * Commits every run before its provider is called and when it ends, so that neither a crash nor a cut stream loses
 * usage. Many requests share one commit.
 */
export class RunRecorder implements RunWriter {
  readonly #instance: Instance;
  readonly #pool: Pool;
  readonly #alerts: Pick<Alerts, 'ofRun'>;
  readonly #log: Logger;
  readonly #onEvents: ((ends: readonly EndRow[]) => void) | undefined;
  readonly #starts: GroupCommit<PendingStart>;
  readonly #ends: GroupCommit<EndRow>;
  /** Runs of this process that have no committed end yet, and when they began. */
  readonly #open = new Map<string, number>();
  /** Runs that began until then have a start event. */
  #publishedUntil = -Infinity;
  readonly #doubtful = new Map<string, DoubtfulStart>();
  readonly #corrected: Counter;
  #committedEnds = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: {
    pool: Pool;
    instance: Instance;
    alerts: Pick<Alerts, 'ofRun'>;
    log: Logger;
    registry: Registry;
    /** Called when events of runs were committed: with the ends, without any after start events. */
    onEvents?: (ends: readonly EndRow[]) => void;
  }) {
    const { pool, instance, log, registry, onEvents } = options;
    this.#onEvents = onEvents;
    this.#alerts = options.alerts;
    this.#instance = instance;
    this.#pool = pool;
    this.#log = log;
    this.#corrected = new Counter({
      name: 'gatehouse_runs_corrected_total',
      help: 'Runs of this process that another one had ended as interrupted, and whose exact end replaced the estimate',
      registers: [registry],
    });
    observe(registry, {
      open: () => this.#open.size,
      waiting: () => this.#ends.waiting,
    });
    const common = { isOutage: isDatabaseOutage, maxItems: maxGroup };
    this.#starts = new GroupCommit({ ...common, commit: (rows) => this.#commitStarts(rows) });
    this.#ends = new GroupCommit({
      ...common,
      commit: (rows) => this.#commitEnds(rows),
      retry: {
        everyMs: tickMs,
        maxWaiting: maxDelayedEnds,
        onOutage: (error, ends) => log.warn({ err: error, ends }, 'ends of runs wait for the database'),
      },
    });
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** Waits for ends that are still being counted or committed. The rest is reaped later. */
  async stop(): Promise<void> {
    const giveUpAt = monotonicMs() + longestStopMs;
    while (this.#open.size > 0 && monotonicMs() < giveUpAt) await sleep(20);
    clearInterval(this.#timer);
    const left = this.openRuns;
    await Promise.all([this.#starts.stop(), this.#ends.stop()]);
    if (left.length > 0)
      this.#log.error(
        { runs: left },
        'stopped while runs have no committed end; they will be reaped as interrupted',
      );
  }

  /** Runs that this process will still end. */
  get openRuns(): readonly string[] {
    return [...new Set([...this.#open.keys(), ...this.#doubtful.keys()])];
  }

  /** How many ends this process has committed. */
  get committedEnds(): number {
    return this.#committedEnds;
  }

  /** Commits a provider call before it is made. Throws `database_unavailable`, since an unrecorded call can't be billed. */
  async startAttempt(row: StartRow): Promise<void> {
    const { run, attempt } = row;
    if (!this.#open.has(run.run_id)) this.#open.set(run.run_id, monotonicMs());
    const pending: PendingStart = { row, refused: false };
    try {
      await this.#starts.submit(pending);
    } catch (error) {
      if (attempt.number > 1) throw error;
      if (error instanceof NothingWrittenError) this.#open.delete(run.run_id);
      else this.#doubtful.set(run.run_id, { end: null, retryAt: Infinity, giveUpAt: Infinity });
      throw error;
    }
    // Another instance declared this one dead and has ended the run.
    if (pending.refused)
      throw new AppError(
        'service_unavailable',
        'The gateway could not continue the request. Try again shortly.',
      );
  }

  /**
   * Commits the end of a run. Resolves once it is committed, at the latest after ten seconds: the end stays queued
   * then and is committed when the database is back.
   */
  async endRun(row: EndRow): Promise<void> {
    const { run_id: id } = row.run;
    // No start was written.
    if (!this.#open.has(id)) return;
    await new Promise<void>((resolve) => {
      const heldLongEnough = setTimeout(resolve, longestHoldMs);
      const settle = (): void => {
        this.#open.delete(id);
        clearTimeout(heldLongEnough);
        resolve();
      };
      const alerts = this.#alerts.ofRun(row.run, row.end, row.attempts);
      this.#ends.submit({ ...row, alerts }).then(settle, (error: unknown) => {
        this.#lost(row, error);
        settle();
      });
    });
  }

  async #commitStarts(starts: readonly PendingStart[]): Promise<void> {
    const rows = starts.map(({ row }) => row);
    const { id } = this.#instance;
    let written = await insertStarts(this.#pool, id, rows);
    if (!written.alive) {
      await this.#instance.renew(id).catch((error: unknown) => {
        throw isDatabaseOutage(error) ? new NothingWrittenError(error) : error;
      });
      written = await insertStarts(this.#pool, this.#instance.id, rows);
    }
    if (!written.alive) throw new NothingWrittenError();
    for (const start of starts) start.refused = written.refused.has(start.row.run.run_id);
  }

  async #commitEnds(rows: readonly EndRow[]): Promise<void> {
    const ended = new Set(await insertEnds(this.#pool, rows));
    for (const id of await this.#correct(rows.filter(({ run }) => !ended.has(run.run_id)))) ended.add(id);
    this.#committedEnds += rows.length;
    this.#onEvents?.(rows);
    for (const row of rows) this.#resolveDoubt(row, ended.has(row.run.run_id));
  }

  /** Ends of runs that have one already: an estimated one if this process was taken for dead. */
  async #correct(rows: readonly EndRow[]): Promise<string[]> {
    if (rows.length === 0) return [];
    const corrected = await correctEnds(this.#pool, rows);
    this.#corrected.inc(corrected.length);
    if (corrected.length > 0)
      this.#log.warn({ runs: corrected.length }, 'replaced estimated ends of runs by the exact ones');
    return corrected;
  }

  #resolveDoubt(end: EndRow, hasEnded: boolean): void {
    const { run_id: id } = end.run;
    const doubt = this.#doubtful.get(id);
    if (doubt === undefined) return;
    const now = monotonicMs();
    const giveUpAt = Math.min(doubt.giveUpAt, now + lateStartMs);
    if (hasEnded || now >= giveUpAt) this.#doubtful.delete(id);
    else this.#doubtful.set(id, { end, retryAt: now + lateEveryMs, giveUpAt });
  }

  #tick(): void {
    const now = monotonicMs();
    void this.#publishStarts(now - publishStartMs);
    for (const doubt of this.#doubtful.values()) {
      const { end } = doubt;
      if (end === null || now < doubt.retryAt) continue;
      // This one stays queued through an outage.
      doubt.retryAt = Infinity;
      this.#ends.submit(end).catch((error: unknown) => this.#lost(end, error));
    }
  }

  /** Publishes start events for runs that began until then. */
  async #publishStarts(until: number): Promise<void> {
    const due: string[] = [];
    for (const [id, since] of this.#open) {
      // The map is in the order in which runs began.
      if (since > until) break;
      if (since > this.#publishedUntil) due.push(id);
    }
    this.#publishedUntil = until;
    if (due.length === 0) return;
    try {
      await insertOpen(this.#pool, due);
      this.#onEvents?.([]);
    } catch (error) {
      // Their end events follow in any case.
      this.#log.warn({ err: error }, 'failed to publish start events');
    }
  }

  #lost({ run }: EndRow, error: unknown): void {
    this.#doubtful.delete(run.run_id);
    const fields = { err: error, run_id: run.run_id, tenant_id: run.tenant_id };
    this.#log.error(fields, 'failed to record the end of a run; it will be reaped as interrupted');
  }
}

/** Gauges, collected when metrics are read. */
function observe(registry: Registry, counts: { open: () => number; waiting: () => number }): void {
  const registers = [registry];
  new Gauge({
    name: 'gatehouse_runs_open',
    help: 'Runs under way in this process, and runs whose end is not committed yet',
    registers,
    collect() {
      this.set(counts.open());
    },
  });
  new Gauge({
    name: 'gatehouse_run_ends_waiting',
    help: 'Ends of runs that wait for the database; beyond 20,000 they are lost, and reaped as interrupted',
    registers,
    collect() {
      this.set(counts.waiting());
    },
  });
}
