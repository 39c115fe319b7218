import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { Participant } from './participants.ts';

const defaultTiming = { often: 60_000, seldom: 3_600_000 };

/** A deletion that has been running for over an hour. */
export interface OverdueDeletion {
  id: string;
  tenantId: string;
  /** The services that have not completed. */
  services: Participant[];
}

export interface DeletionUpkeepOptions {
  /** Adds jobs for services that no job calls any more. Returns whether there may be more. */
  resume: () => Promise<boolean>;
  /** Deletes a batch of old deletions. Returns whether there are more. */
  deleteOld: () => Promise<boolean>;
  countOverdue: () => Promise<number>;
  /** Some of them, the oldest first. */
  findOverdue: () => Promise<readonly OverdueDeletion[]>;
  log: Logger;
  registry: Registry;
  /** For tests: times between rounds. */
  timing?: { often: number; seldom: number };
}

/** Keeps deletions of users' data going, and shows those that take long. */
export function deletionUpkeep(options: DeletionUpkeepOptions): PeriodicWork[] {
  const { log, registry, timing = defaultTiming } = options;
  const { often, seldom } = timing;
  const overdue = new Gauge({
    name: 'gatehouse_user_deletions_overdue',
    help: 'Deletions of the data of users that have been running for over an hour; the same in every replica',
    registers: [registry],
  });
  const every = (everyMs: number, task: string, round: () => Promise<boolean>): PeriodicWork =>
    new PeriodicWork({ task, log, everyMs, firstMs: often, round });
  return [
    every(often, 'resume deletions of users', options.resume),
    every(often, 'count overdue deletions of users', async () => {
      overdue.set(await options.countOverdue());
      return false;
    }),
    every(seldom, 'find overdue deletions of users', async () => {
      for (const { id, tenantId, services } of await options.findOverdue())
        log.warn(
          { deletion_id: id, tenant_id: tenantId, services },
          'the deletion of the data of a user has been running for over an hour',
        );
      return false;
    }),
    every(seldom, 'delete old deletions of users', options.deleteOld),
  ];
}
