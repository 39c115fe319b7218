import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { runSteps } from '@gatehouse/kit/cooperative-steps';
import type { Pool } from '@gatehouse/pg/pool';
import { isInUse, type Report } from './provider-report.ts';
import { deleteOldReports, findReports, writeReport } from './provider-report-system-store.ts';
import type { ProviderRegistry } from './registry.ts';

const everyMs = 5_000;
/** A replica that is silent for so long has ended, or can't reach the database. */
const goodMs = 20_000;
const keptMs = 60 * 60_000;
/** Reports of ended replicas are deleted at the start, and so often. */
const deleteEveryMs = 10 * 60_000;
/** Deployments in one report; a catalogue may have more, but few of them are in use. */
const maxDeployments = 1_000;

export interface ProviderReportsOptions {
  registry: Pick<ProviderRegistry, 'states'>;
  pool: Pool;
  instanceId: () => string;
  log: Logger;
}

/** Reports the state of this replica's deployments, and reads those of all replicas. */
export class ProviderReports {
  readonly #options: ProviderReportsOptions;
  readonly #loop = new BackgroundLoop(() => this.#round());
  #deletedAt = -Infinity;
  #isFailing = false;

  constructor(options: ProviderReportsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop.start(everyMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async all(): Promise<Report[]> {
    const rows = await findReports(this.#options.pool, goodMs);
    return rows.map(({ report, reported_at: reportedAt }) => ({
      deployments: JSON.parse(report) as Report['deployments'],
      reportedAt,
    }));
  }

  async #round(): Promise<number> {
    const { registry, pool, instanceId, log } = this.#options;
    try {
      const all = await runSteps(registry.states(), (piece) => runCooperatively(null, piece));
      const states = all.filter(isInUse).slice(0, maxDeployments);
      await writeReport(pool, { instanceId: instanceId(), report: JSON.stringify(states) });
      if (monotonicMs() - this.#deletedAt > deleteEveryMs) {
        this.#deletedAt = monotonicMs();
        await deleteOldReports(pool, keptMs);
      }
      this.#isFailing = false;
    } catch (err) {
      if (!this.#isFailing) log.warn({ err }, 'failed to report the state of providers');
      this.#isFailing = true;
    }
    return everyMs;
  }
}
