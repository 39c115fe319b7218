import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { hourMs, minuteMs } from '@gatehouse/kit/bounds';
import type { Logger } from '@gatehouse/kit/log';
import { gauge, type Registry } from '@gatehouse/kit/metrics';
import type { DeletionSystemStore } from './deletion-system-store.ts';

const help =
  'Deletions of the data of users that have been running for over an hour; the same in every replica';

export interface DeletionUpkeepOptions {
  deletions: DeletionSystemStore;
  log: Logger;
  registry: Registry;
  /** For tests: times between rounds. */
  timing?: { often: number; seldom: number };
}

/** Keeps deletions of users' data going, and shows slow ones. */
export function deletionUpkeep({ deletions, log, registry, timing }: DeletionUpkeepOptions): PeriodicWork[] {
  const { often, seldom } = timing ?? { often: minuteMs, seldom: hourMs };
  const overdue = gauge(registry, 'gatehouse_user_deletions_overdue', help);
  const every = (everyMs: number, task: string, round: () => Promise<boolean>): PeriodicWork =>
    new PeriodicWork({ task, log, everyMs, firstMs: often, round });
  return [
    every(often, 'resume deletions of users', () => deletions.resume()),
    every(often, 'count overdue deletions of users', async () => {
      overdue.set((await deletions.findOverdue()).count);
      return false;
    }),
    every(seldom, 'find overdue deletions of users', async () => {
      for (const { id, tenantId, services } of (await deletions.findOverdue()).oldest)
        log.warn(
          { deletion_id: id, tenant_id: tenantId, services },
          'the deletion of the data of a user has been running for over an hour',
        );
      return false;
    }),
  ];
}
