import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import { deleteOldTransfers } from './store/transfer-state.ts';

const everyMs = 600_000;

/** Deletes what a service keeps of transfers that ended long ago. `system` acts as `<service>_system`. */
export function transferUpkeep(
  service: string,
  { system, log }: { system: Pool; log: Logger },
): PeriodicWork {
  return new PeriodicWork({
    task: 'delete records of old transfers',
    log,
    everyMs,
    round: () => deleteOldTransfers(system, service),
  });
}
