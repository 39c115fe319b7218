import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import { isDatabaseOutage } from '@gatehouse/pg/errors';
import type { Pool } from '@gatehouse/pg/pool';
import {
  insertEnds,
  insertOpen,
  insertStarts,
  NothingWrittenError,
  type EndRow,
  type StartRow,
} from '../store/run-system-store.ts';
import { GroupCommit } from './group-commit.ts';
import type { Instance } from './instance.ts';

/** How long a client's last byte waits for its run's end to be committed. */
const longestHoldMs = 10_000;
const tickMs = 500;
/** Runs that take longer are told of before they end. */
const tellOpenMs = 500;
/** How long stopping waits for ends. */
const longestStopMs = 5_000;
/** Ends kept for later while the database is away: about 2 kB each. */
const maxDelayedEnds = 20_000;
const maxGroup = 256;
/** A start whose fate is unknown may be written by a server that hung, after its end found nothing to end. */
const lateStartMs = 60_000;
const lateEveryMs = 5_000;

interface PendingStart {
  row: StartRow;
  refused: boolean;
}

interface LateEnd {
  row: EndRow;
  until: number;
  nextAt: number;
}

/**
 * Writes down every run before its provider is called and when it ends, so that neither a crash nor a cut stream loses
 * usage. Many requests share one commit.
 */
export class Meter {
  readonly #instance: Instance;
  readonly #pool: Pool;
  readonly #log: Logger;
  readonly #starts: GroupCommit<PendingStart>;
  readonly #ends: GroupCommit<EndRow>;
  /** Runs of this process that have no committed end yet, and when they began. */
  readonly #open = new Map<string, number>();
  /** Those of them that were told of as under way. */
  readonly #told = new Set<string>();
  /** Runs whose start is perhaps written, or will be. */
  readonly #doubtful = new Set<string>();
  readonly #late = new Map<string, LateEnd>();
  #committedEnds = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { pool: Pool; instance: Instance; log: Logger; registry: Registry }) {
    const { pool, instance, log, registry } = options;
    this.#instance = instance;
    this.#pool = pool;
    this.#log = log;
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

  /** Waits for ends that are still being counted or committed; what remains is found and reaped later. */
  async stop(): Promise<void> {
    const giveUpAt = monotonicMs() + longestStopMs;
    while (this.#open.size > 0 && monotonicMs() < giveUpAt) await sleep(20);
    clearInterval(this.#timer);
    const left = this.openRuns;
    await Promise.all([this.#starts.stop(), this.#ends.stop()]);
    if (left.length > 0) this.#log.error({ runs: left }, 'stopped with runs that have no end');
  }

  /** Runs that this process still has in its hands. */
  get openRuns(): readonly string[] {
    return [...this.#open.keys(), ...this.#late.keys()];
  }

  /** How many ends this process has committed. */
  get committedEnds(): number {
    return this.#committedEnds;
  }

  /** Commits a provider call before it is made. Throws `database_unavailable`: what can't be billed isn't called. */
  async startAttempt(row: StartRow): Promise<void> {
    const { run, attempt } = row;
    if (!this.#open.has(run.run_id)) this.#open.set(run.run_id, monotonicMs());
    const pending: PendingStart = { row, refused: false };
    try {
      await this.#starts.submit(pending);
    } catch (error) {
      if (attempt.number > 1) throw error;
      if (error instanceof NothingWrittenError) this.#open.delete(run.run_id);
      else this.#doubtful.add(run.run_id);
      throw error;
    }
    // Another instance took this one for dead and has ended the run: no call could be added to it.
    if (pending.refused)
      throw new AppError('service_unavailable', 'The gateway lost track of the request. Try again shortly.');
  }

  /**
   * Commits the end of a run. Resolves once it is committed, at the latest after ten seconds: the end stays queued
   * then and is committed when the database is back.
   */
  async endRun(row: EndRow): Promise<void> {
    const { run_id: id } = row.run;
    // Nothing of it was ever written.
    if (!this.#open.has(id)) return;
    await new Promise<void>((resolve) => {
      const heldLongEnough = setTimeout(resolve, longestHoldMs);
      const settle = (): void => {
        this.#open.delete(id);
        this.#told.delete(id);
        clearTimeout(heldLongEnough);
        resolve();
      };
      this.#ends.submit(row).then(settle, (error: unknown) => {
        this.#log.error({ err: error, ...fieldsOf(row) }, lostEnd);
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
    this.#committedEnds += rows.length;
    for (const row of rows) {
      const { run_id: id } = row.run;
      if (!this.#doubtful.delete(id) || ended.has(id)) continue;
      const now = monotonicMs();
      this.#late.set(id, { row, until: now + lateStartMs, nextAt: now + lateEveryMs });
    }
  }

  #tick(): void {
    const now = monotonicMs();
    void this.#tellOpen(now);
    for (const [id, late] of this.#late) {
      if (now < late.nextAt) continue;
      late.nextAt = now + lateEveryMs;
      void this.#endLate(id, late);
    }
  }

  /** Most runs are over by then, and their end says it all. */
  async #tellOpen(now: number): Promise<void> {
    const due: string[] = [];
    for (const [id, since] of this.#open) {
      // In the order in which they began.
      if (now - since < tellOpenMs) break;
      if (!this.#told.has(id)) due.push(id);
    }
    if (due.length === 0) return;
    for (const id of due) this.#told.add(id);
    await insertOpen(this.#pool, due).catch((error: unknown) => {
      // They are told of when they end; the next that are due are tried as well.
      this.#log.warn({ err: error }, 'runs under way could not be told of');
    });
  }

  /** Tries the end again of a run whose start may have been written meanwhile. */
  async #endLate(id: string, late: LateEnd): Promise<void> {
    try {
      const [ended] = await insertEnds(this.#pool, [late.row]);
      if (ended === undefined && monotonicMs() < late.until) return;
    } catch (error) {
      // Without the database nothing can have been decided.
      if (isDatabaseOutage(error)) return;
      this.#log.error({ err: error, ...fieldsOf(late.row) }, lostEnd);
    }
    this.#late.delete(id);
  }
}

/** What is in the hands of this process, counted when it is asked for. */
function observe(registry: Registry, counts: { open: () => number; waiting: () => number }): void {
  const registers = [registry];
  new Gauge({
    name: 'gatehouse_runs_open',
    help: 'Runs under way here, and those whose end is not committed yet',
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

const lostEnd = 'the end of a run was not recorded; it will be reaped as interrupted';

function fieldsOf({ run }: EndRow): Record<string, string> {
  return { run_id: run.run_id, tenant_id: run.tenant_id };
}
