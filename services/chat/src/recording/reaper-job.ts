import { hourMs } from '@gatehouse/kit/bounds';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Counter, type Registry } from '@gatehouse/kit/metrics';
import { storeBatchThenEach } from '@gatehouse/kit/store-batch';
import { isDatabaseOutage } from '@gatehouse/pg/errors';
import type { Pool } from '@gatehouse/pg/pool';
import type { Pricing } from '../catalogue/pricing.ts';
import { markSilentInstancesDead } from './instance-system-store.ts';
import { deadLetterUnreadable, findOrphans } from './orphan-system-store.ts';
import { deleteOldInterrupted, insertInterruptedEnds } from './run-end-system-store.ts';
import { findLeftLogs, takeOverLog } from './run-log-system-store.ts';
import type { EndRow } from './run-rows.ts';
import type { Alerts } from '../alerts/alerts-job.ts';
import type { Instance } from './instance-job.ts';
import { interruptedEnd } from './interrupted.ts';
import type { RunRecorder } from './run-recorder.ts';
import { deadAfterMs, heartbeatGapMs, rowsAtOnce } from '../bounds.ts';

export interface ReaperOptions {
  pool: Pool;
  instance: Pick<Instance, 'id' | 'steadyBeat'>;
  recorder: Pick<RunRecorder, 'openRuns'>;
  pricing: Pricing;
  alerts: Pick<Alerts, 'alertOfRun'>;
  log: Logger;
  registry: Registry;
  /** Called when events of runs were written to the outbox. */
  onWaiting?: () => void;
  /** Called when alerts were committed. */
  onAlerts?: () => void;
}

/**
 * Ends the runs of dead instances, as `interrupted` with estimated usage. Every replica runs one; the first end of a
 * run wins, so replicas need no coordination. If an instance was not dead, it corrects these ends (`RunRecorder`).
 */
export class Reaper {
  readonly #options: ReaperOptions;
  readonly #interrupted: Counter;
  readonly #unreadable: Counter;
  readonly #sweeping: PeriodicWork;
  readonly #deleting: PeriodicWork;

  constructor(options: ReaperOptions) {
    this.#options = options;
    const { log, pool } = options;
    this.#sweeping = new PeriodicWork({
      task: 'end interrupted runs',
      ...{ log, everyMs: 2_500 },
      round: async () => {
        await this.sweep();
        return false;
      },
    });
    this.#deleting = new PeriodicWork({
      task: 'delete old notes of interrupted runs',
      ...{ log, everyMs: hourMs },
      round: () => deleteOldInterrupted(pool),
    });
    this.#interrupted = counter(
      options.registry,
      'gatehouse_runs_interrupted_total',
      'Runs of processes that died, ended here with estimated usage',
    );
    this.#unreadable = counter(
      options.registry,
      'gatehouse_runs_unreadable_total',
      "Runs of processes that died whose rows can't be read or stored, moved to the dead letters of the outbox",
    );
  }

  start(): void {
    this.#sweeping.start();
    this.#deleting.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#sweeping.stop(), this.#deleting.stop()]);
  }

  /** One round. Does nothing until this process's own heartbeats have been steady for a full dead period. */
  async sweep(): Promise<void> {
    const { pool, instance, recorder, pricing, alerts, log } = this.#options;
    const judgeBeat = instance.steadyBeat;
    if (judgeBeat === null) return;
    const dead = await markSilentInstancesDead(pool, {
      silentMs: deadAfterMs,
      judgeBeat,
      validMs: heartbeatGapMs,
    });
    if (dead.length > 0) log.warn({ instances: dead }, 'instances declared dead');
    await this.#takeOver();
    for (;;) {
      const { openRuns } = recorder;
      const { orphans, unreadable } = await findOrphans(pool, instance.id, openRuns, rowsAtOnce);
      const moved = await this.#deadLetter(unreadable);
      const ended = await this.#end(
        orphans.map((orphan) => {
          const row = interruptedEnd(orphan, pricing);
          // Once for each row: what has passed the throttle does not pass it again.
          return { ...row, alerts: alerts.alertOfRun(row.run, row.end, row.attempts) };
        }),
      );
      this.#interrupted.inc(ended);
      if (ended > 0) log.warn({ runs: ended }, 'ended interrupted runs');
      // No run of a full batch was ended: other replicas were faster, or these fail. The next round tries again.
      if (orphans.length + unreadable.length < rowsAtOnce || ended + moved === 0) return;
    }
  }

  /** Logs of dead instances: their runs under way become orphans, and their unpublished ends wait in the outbox. */
  async #takeOver(): Promise<void> {
    for (const instanceId of await findLeftLogs(this.#options.pool)) {
      const fields = { dead_instance: instanceId };
      try {
        const refused = await takeOverLog(this.#options.pool, instanceId);
        if (refused === null) continue;
        this.#noteDeadLetters(refused);
        this.#options.log.warn(fields, 'took over the log of runs of a dead instance');
        this.#options.onWaiting?.();
      } catch (error) {
        this.#options.log.error(
          { ...fields, err: error },
          'failed to take over the log of runs of a dead instance',
        );
      }
    }
  }

  async #deadLetter(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0;
    const moved = await deadLetterUnreadable(this.#options.pool, ids);
    if (moved > 0) this.#noteDeadLetters(ids, moved);
    return moved;
  }

  #noteDeadLetters(ids: readonly string[], moved = ids.length): void {
    if (moved === 0) return;
    this.#unreadable.inc(moved);
    this.#options.log.error(
      { runs: ids },
      "moved runs of dead instances that can't be read to the dead letters",
    );
  }

  /** Returns how many runs this call has ended. A row rejected by the database does not hold up the others. */
  async #end(rows: readonly EndRow[]): Promise<number> {
    if (rows.length === 0) return 0;
    let ended = 0;
    await storeBatchThenEach(rows, {
      store: async (some) => {
        ended += (await insertInterruptedEnds(this.#options.pool, some)).length;
        this.#options.onWaiting?.();
        if (some.some(({ alerts = [] }) => alerts.length > 0)) this.#options.onAlerts?.();
      },
      isRefusal: (error) => !isDatabaseOutage(error),
      refuse: async ({ run }, error) =>
        this.#options.log.error({ err: error, run_id: run.run_id }, 'failed to end an interrupted run'),
    });
    return ended;
  }
}
