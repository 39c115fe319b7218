import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import { gauge, type Registry } from '@gatehouse/kit/metrics';
import type { TransferSystemStore } from './transfer-system-store.ts';
import { openPhases } from './transfer.ts';

const help = 'Age of the oldest open transfer by its phase; the same in every replica';

export interface TransferUpkeepOptions {
  transfers: TransferSystemStore;
  log: Logger;
  registry: Registry;
  /** For tests: the time between rounds. */
  everyMs?: number;
}

/** Keeps transfers going, and shows slow ones. */
export function transferUpkeep({ transfers, log, registry, everyMs = minuteMs }: TransferUpkeepOptions) {
  const ages = gauge(registry, 'gatehouse_transfer_phase_seconds', help, ['phase']);
  const show = (seconds: Record<string, number>): void => {
    for (const phase of openPhases) ages.set({ phase }, seconds[phase] ?? 0);
  };
  show({});
  const every = (task: string, round: () => Promise<boolean>): PeriodicWork =>
    new PeriodicWork({ task, log, everyMs, round });
  return [
    every('resume transfers', () => transfers.resumeLost()),
    every('find the oldest transfers', async () => {
      show(await transfers.oldest());
      return false;
    }),
  ];
}
