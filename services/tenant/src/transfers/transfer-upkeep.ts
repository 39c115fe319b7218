import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import { openPhases } from './transfer.ts';

const defaultTiming = { often: 60_000, seldom: 600_000 };

export interface TransferUpkeepOptions {
  /** Adds jobs for transfers that no job works on any more. Returns whether there may be more. */
  resume: () => Promise<boolean>;
  /** Seconds since the oldest open transfer entered its phase, by phase. */
  oldest: () => Promise<Record<string, number>>;
  /** Deletes a batch of old transfers, or of old previews. Returns whether there are more. */
  deleteOld: () => Promise<boolean>;
  deleteOldPreviews: () => Promise<boolean>;
  log: Logger;
  registry: Registry;
  /** For tests: times between rounds. */
  timing?: { often: number; seldom: number };
}

/** Keeps transfers going, and shows those that take long. */
export function transferUpkeep(options: TransferUpkeepOptions): PeriodicWork[] {
  const { log, registry, timing = defaultTiming } = options;
  const { often, seldom } = timing;
  const ages = new Gauge({
    name: 'gatehouse_transfer_phase_seconds',
    help: 'Age of the oldest open transfer by its phase; the same in every replica',
    labelNames: ['phase'],
    registers: [registry],
  });
  const show = (counts: Record<string, number>): void => {
    for (const phase of openPhases) ages.set({ phase }, counts[phase] ?? 0);
  };
  show({});
  const every = (everyMs: number, task: string, round: () => Promise<boolean>): PeriodicWork =>
    new PeriodicWork({ task, log, everyMs, round });
  return [
    every(often, 'resume transfers', options.resume),
    every(often, 'find the oldest transfers', async () => {
      show(await options.oldest());
      return false;
    }),
    every(seldom, 'delete old transfers', options.deleteOld),
    every(seldom, 'delete old previews of transfers', options.deleteOldPreviews),
  ];
}
