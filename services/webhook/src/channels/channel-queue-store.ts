import type { Jobs } from '@gatehouse/jobs/jobs';
import type { Queryable } from '@gatehouse/pg/pool';
import type { channelTasks } from './channel-tasks.ts';
import type { Ref } from '../shared/ref.ts';

/** Queues work on channels, in the transaction of what causes it. */
export class ChannelQueue {
  readonly #jobs: Jobs<typeof channelTasks>;

  constructor(jobs: Jobs<typeof channelTasks>) {
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

  /** The same for a channel whose refresh is due. A refresh that is tried again counts. */
  async refreshDue(db: Queryable, channel: Ref): Promise<void> {
    await this.#jobs.add(db, { ...refreshOf(channel), unlessTried: true });
  }
}

function refreshOf({ tenantId, id }: Ref) {
  return { task: 'refresh_tokens', tenantId, ids: { channelId: id }, key: id } as const;
}
