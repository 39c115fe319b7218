import type { Jobs } from '@gatehouse/jobs/jobs';
import type { Queryable } from '@gatehouse/pg/pool';
import type { tasks } from '../tasks.ts';

/** Queues refreshes of tokens. */
export class TokenJobs {
  readonly #jobs: Jobs<typeof tasks>;

  constructor(jobs: Jobs<typeof tasks>) {
    this.#jobs = jobs;
  }

  async queue(db: Queryable, channel: { tenantId: string; id: string }): Promise<void> {
    await this.#jobs.add(db, jobOf(channel));
  }

  /** The same for a channel whose refresh is due. A refresh that is tried again counts. */
  async queueDue(db: Queryable, channel: { tenantId: string; id: string }): Promise<void> {
    await this.#jobs.add(db, { ...jobOf(channel), unlessTried: true });
  }
}

function jobOf({ tenantId, id }: { tenantId: string; id: string }) {
  return { task: 'refresh_tokens', tenantId, ids: { channelId: id }, key: id } as const;
}
