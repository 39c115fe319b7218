import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { runSteps } from '@gatehouse/kit/cooperative-steps';
import type { Logger } from '@gatehouse/kit/log';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import type { Pool } from '@gatehouse/pg/pool';
import { isInUse, type Report } from './provider-report.ts';
import { findReports, oldReports, writeReport } from './provider-report-system-store.ts';
import type { ProviderRegistry } from './registry.ts';
import { maxReported } from '../bounds.ts';

const everyMs = 5_000;
/** A replica silent for so long has ended, or can't reach the database. */
const goodMs = 20_000;

export interface ProviderReportsOptions {
  registry: Pick<ProviderRegistry, 'states'>;
  pool: Pool;
  instanceId: () => string;
  log: Logger;
}

/** Reports the state of this replica's deployments, and reads those of all replicas. */
export class ProviderReports {
  readonly #pool: Pool;
  readonly parts: readonly PeriodicWork[];

  constructor({ registry, pool, instanceId, log }: ProviderReportsOptions) {
    this.#pool = pool;
    const report = new PeriodicWork({
      ...{ task: 'report the state of providers', log, everyMs, retryMs: goodMs },
      round: async () => {
        const all = await runSteps(registry.states(), (piece) => runCooperatively(null, piece));
        const states = all.filter(isInUse).slice(0, maxReported);
        await writeReport(pool, { instanceId: instanceId(), report: JSON.stringify(states) });
        return false;
      },
    });
    this.parts = [report, ...cleanUp(log, pool, [oldReports])];
  }

  async all(): Promise<Report[]> {
    const rows = await findReports(this.#pool, goodMs);
    return rows.map(({ report, reportedAt }) => ({
      deployments: JSON.parse(report) as Report['deployments'],
      reportedAt,
    }));
  }
}
