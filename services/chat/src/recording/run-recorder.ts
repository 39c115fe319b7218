import { minuteMs } from '@gatehouse/kit/bounds';
import { relayMetrics } from '@gatehouse/events/relay-metrics';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
import { storeBatchThenEach } from '@gatehouse/kit/store-batch';
import { isDatabaseOutage } from '@gatehouse/pg/errors';
import type { Pool } from '@gatehouse/pg/pool';
import type { Alerts } from '../alerts/alerts-job.ts';
import type { Instance } from './instance-job.ts';
import { releaseHeld, type AwaitedEnd } from './logged-run.ts';
import { correctEnds } from './run-end-system-store.ts';
import { RunLog } from './run-log.ts';
import { NothingWrittenError } from './run-log-system-store.ts';
import type { RunPublisher } from './run-publisher-job.ts';
import { InstanceDeadError, type EndRow, type RunWriter, type StartRow } from './run-rows.ts';
import { announceMs, groupSize, lateEndRetryMs, recorderStopMs } from '../bounds.ts';

/** An end after another instance has taken over its log. */
interface Correction extends AwaitedEnd {
  retryAt: number;
  giveUpAt: number;
}

export interface RunRecorderOptions {
  pool: Pool;
  instance: Instance;
  alerts: Pick<Alerts, 'alertOfRun'>;
  publisher: Pick<RunPublisher, 'isOpen' | 'takesObjects' | 'push' | 'stop'>;
  log: Logger;
  registry: Registry;
  /** Called when events of runs were written to the outbox. */
  onWaiting?: () => void;
  /** Called when alerts were committed. */
  onAlerts?: () => void;
}

/**
 * Commits every run before its provider is called and when it ends, so neither a crash nor a cut stream loses usage.
 * Many requests share one commit, in the log of this process under its present name.
 */
export class RunRecorder implements RunWriter {
  readonly #options: RunRecorderOptions;
  readonly #corrected: Counter;
  /** The last one takes starts; the others have runs begun under a name since declared dead. */
  #logs: RunLog[] = [];
  readonly #corrections = new Map<string, Correction>();
  #correcting: Promise<void> | null = null;
  #committedEnds = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RunRecorderOptions) {
    this.#options = options;
    this.#corrected = counter(
      options.registry,
      'gatehouse_runs_corrected_total',
      'Runs of this process that another one had ended as interrupted, and whose exact end replaced the estimate',
    );
    observe(options.registry, {
      open: () => this.openRuns.length,
      waiting: () => this.#logs.reduce((sum, { waitingEnds }) => sum + waitingEnds, this.#corrections.size),
    });
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), announceMs);
  }

  /** Waits for ends still being counted or committed. The rest is reaped later. */
  async stop(): Promise<void> {
    const giveUpAt = monotonicMs() + recorderStopMs;
    while (this.openRuns.length > 0 && monotonicMs() < giveUpAt) await sleep(20);
    clearInterval(this.#timer);
    const left = this.openRuns;
    // First, since it hands what it can't publish back to the logs.
    await this.#options.publisher.stop();
    await Promise.all(this.#logs.map((log) => log.stop()));
    await this.#correcting;
    releaseHeld(this.#corrections.values(), Infinity);
    if (left.length > 0)
      this.#options.log.error(
        { runs: left },
        'stopped while runs have no committed end; they will be reaped as interrupted',
      );
  }

  /** Runs this process will still end. */
  get openRuns(): readonly string[] {
    return [...this.#logs.flatMap(({ openRuns }) => openRuns), ...this.#corrections.keys()];
  }

  /** How many ends this process has committed. */
  get committedEnds(): number {
    return this.#committedEnds;
  }

  /** Commits a provider call before it is made. Throws `database_unavailable`, since an unrecorded call can't be billed. */
  startAttempt(row: StartRow): Promise<void> {
    if (row.attempt.number > 1) {
      const { logged } = row.handle;
      return (logged?.log.start(row) ?? Promise.reject(new InstanceDeadError())).catch(refuse);
    }
    const log = this.#current();
    return startIn(log, row).catch((error: unknown) => this.#startAgain(log, row, error));
  }

  async #startAgain({ instanceId }: RunLog, row: StartRow, error: unknown): Promise<void> {
    if (!(error instanceof InstanceDeadError)) throw error;
    await this.#options.instance.renew(instanceId).catch((cause: unknown) => {
      throw isDatabaseOutage(cause) ? new NothingWrittenError(cause) : cause;
    });
    await startIn(this.#current(), row).catch(refuse);
  }

  /**
   * Commits the end of a run. Resolves once it is committed, at the latest after ten seconds: the end stays queued
   * then and is committed when the database is back.
   */
  endRun(row: EndRow): Promise<void> {
    const logged = row.handle?.logged;
    // No start was written.
    if (logged === undefined) return Promise.resolve();
    const alerts = this.#options.alerts.alertOfRun(row.run, row.end, row.attempts);
    return logged.log.end({ ...row, alerts });
  }

  /** The log of the instance under its present name. */
  #current(): RunLog {
    const { pool, instance, publisher, log, registry } = this.#options;
    const last = this.#logs.at(-1);
    if (last?.instanceId === instance.id) return last;
    const made = new RunLog({
      ...{ pool, publisher, log, instanceId: instance.id },
      deadLetters: relayMetrics(registry, 'run_log').deadLetters,
      onCommitted: (ends, waiting) => this.#committed(ends, waiting),
      onLost: (row, error) => this.#lost(row, error),
      onTaken: (ends) => this.#queueCorrections(ends),
    });
    this.#logs.push(made);
    return made;
  }

  #committed(ends: readonly EndRow[], waiting: boolean): void {
    this.#committedEnds += ends.length;
    if (waiting) this.#options.onWaiting?.();
    if (ends.some(({ alerts = [] }) => alerts.length > 0)) this.#options.onAlerts?.();
  }

  #tick(): void {
    const now = monotonicMs();
    for (const log of this.#logs) void log.tick(now, now - announceMs);
    releaseHeld(this.#corrections.values(), now);
    this.#logs = this.#logs.filter((log, index) => index === this.#logs.length - 1 || !log.isDone);
    this.#correct();
  }

  #queueCorrections(ends: readonly AwaitedEnd[]): void {
    const now = monotonicMs();
    for (const end of ends)
      this.#corrections.set(end.row.run.run_id, { ...end, retryAt: now, giveUpAt: now + minuteMs });
    this.#correct();
  }

  #correct(): void {
    this.#correcting ??= this.#correctDue().finally(() => {
      this.#correcting = null;
    });
  }

  /** Replaces estimated ends by exact ones, some at a time. An estimated end may come a little later. */
  async #correctDue(): Promise<void> {
    for (;;) {
      const now = monotonicMs();
      const due = [...this.#corrections.values()].filter(({ retryAt }) => retryAt <= now).slice(0, groupSize);
      if (due.length === 0) return;
      for (const correction of due) correction.retryAt = now + lateEndRetryMs;
      try {
        await storeBatchThenEach(due, {
          store: (some) => this.#correctSome(some),
          isRefusal: (error) => !isDatabaseOutage(error),
          refuse: async ({ row }, error) => {
            this.#corrections.delete(row.run.run_id);
            this.#lost(row, error);
          },
        });
      } catch (error) {
        this.#options.log.warn({ err: error, ends: due.length }, 'exact ends of runs wait for the database');
      }
      for (const { row, giveUpAt, resolve } of due) {
        resolve();
        if (now >= giveUpAt) this.#corrections.delete(row.run.run_id);
      }
    }
  }

  async #correctSome(some: readonly Correction[]): Promise<void> {
    const { pool, log, onWaiting } = this.#options;
    const corrected = await correctEnds(
      pool,
      some.map(({ row }) => row),
    );
    if (corrected.length === 0) return;
    for (const id of corrected) this.#corrections.delete(id);
    this.#committedEnds += corrected.length;
    this.#corrected.inc(corrected.length);
    log.warn({ runs: corrected.length }, 'replaced estimated ends of runs by the exact ones');
    onWaiting?.();
  }

  #lost({ run }: EndRow, error: unknown): void {
    const fields = { err: error, run_id: run.run_id, tenant_id: run.tenant_id };
    this.#options.log.error(fields, 'failed to record the end of a run; it will be reaped as interrupted');
  }
}

/** Starts a run. Its cost is settled under the id of its log, so its reservation must be held under the same id. */
async function startIn(log: RunLog, row: StartRow): Promise<void> {
  if (row.holderId !== null && row.holderId !== log.instanceId) throw notContinued();
  await log.start(row);
}

/** Another instance declared this one dead and has ended the run. */
function refuse(error: unknown): never {
  throw error instanceof InstanceDeadError ? notContinued() : error;
}

function notContinued(): AppError {
  return new AppError(
    'service_unavailable',
    'The gateway could not continue the request. Try again shortly.',
  );
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
