import type { Jobs } from '@gatehouse/jobs/jobs';
import type { Queryable } from '@gatehouse/pg/pool';
import type { tasks } from '../jobs/tasks.ts';

/** Queues refreshes of tokens. */
export class TokenJobs {
  readonly #jobs: Jobs<typeof tasks>;

  constructor(jobs: Jobs<typeof tasks>) {
    this.#jobs = jobs;
  }

  async queue(db: Queryable, { tenantId, id }: { tenantId: string; id: string }): Promise<void> {
    await this.#jobs.add(db, { task: 'refresh_tokens', tenantId, ids: { channelId: id }, key: id });
  }
}
