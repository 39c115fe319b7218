import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import { batchRows, overdueMs } from '../bounds.ts';

interface Overdue<Row> {
  /** As the log names its failure: `failed to queue <what>`. */
  what: string;
  /** A pool of `webhook_app`. */
  app: Pool;
  log: Logger;
  find: (limit: number) => Promise<Row[]>;
  add: (db: Queryable, row: Row) => Promise<void>;
}

/** Queues work that is overdue because its job was lost. */
export function queueOverdue<Row extends { tenantId: string }>(options: Overdue<Row>): PeriodicWork {
  const { what, app, log, find, add } = options;
  const round = async (): Promise<boolean> => {
    for (const row of await find(batchRows)) await withTenant(app, row.tenantId, (db) => add(db, row));
    return false;
  };
  return new PeriodicWork({ task: `queue ${what}`, log, everyMs: overdueMs, round });
}
