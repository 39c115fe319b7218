import type { Queryable } from '@gatehouse/pg/pool';
import type { Ref } from '../shared/ref.ts';
import type { WebhookJobs } from '../shared/tasks.ts';

/** Queues work on channels, in the transaction of what causes it. */
export class ChannelQueue {
  readonly #jobs: WebhookJobs;

  constructor(jobs: WebhookJobs) {
    this.#jobs = jobs;
  }

  /** Asks whether the provider accepts the credentials. */
  async check(db: Queryable, { tenantId, id }: Ref): Promise<void> {
    await this.#jobs.add(db, { task: 'check_channel', tenantId, ids: { channelId: id }, key: id });
  }

  /** Refreshes the tokens. */
  async refresh(db: Queryable, channel: Ref): Promise<void> {
    await this.#jobs.add(db, refreshOf(channel));
  }

  /** The same for a channel with a due refresh. A repeated refresh counts. */
  async refreshDue(db: Queryable, channel: Ref): Promise<void> {
    await this.#jobs.add(db, { ...refreshOf(channel), unlessTried: true });
  }
}

function refreshOf({ tenantId, id }: Ref) {
  return { task: 'refresh_tokens', tenantId, ids: { channelId: id }, key: id } as const;
}
