import type { ChannelType } from '@gatehouse/contract/channel-instances';
import type { Jobs } from '@gatehouse/jobs/jobs';
import type { Queryable } from '@gatehouse/pg/pool';
import type { tasks } from '../jobs/tasks.ts';
import type { ChannelAdapters } from './adapters.ts';
import type { ChannelState } from './channel.ts';

/** Asks providers whether they accept the credentials of channels, in the background. */
export class ChannelCheck {
  readonly #adapters: ChannelAdapters;
  readonly #jobs: Jobs<typeof tasks>;

  constructor(adapters: ChannelAdapters, jobs: Jobs<typeof tasks>) {
    this.#adapters = adapters;
    this.#jobs = jobs;
  }

  /** The status of a channel whose credentials are new. */
  firstStatus(type: ChannelType): ChannelState['status'] {
    return this.#adapters[type].check === undefined ? 'connected' : 'pending';
  }

  async queue(db: Queryable, { tenantId, id }: { tenantId: string; id: string }): Promise<void> {
    await this.#jobs.add(db, { task: 'check_channel', tenantId, ids: { channelId: id }, key: id });
  }
}
