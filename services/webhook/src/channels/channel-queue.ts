import type { ChannelType } from '@gatehouse/contract/channel-instances';
import type { Jobs } from '@gatehouse/jobs/jobs';
import type { Queryable } from '@gatehouse/pg/pool';
import type { tasks } from '../tasks.ts';
import { adapterOf, type ChannelAdapters } from './adapters.ts';
import type { ChannelState } from './channel.ts';

/** Queues the question whether a provider accepts the credentials of a channel. */
export class ChannelCheck {
  readonly #adapters: ChannelAdapters;
  readonly #jobs: Jobs<typeof tasks>;

  constructor(adapters: ChannelAdapters, jobs: Jobs<typeof tasks>) {
    this.#adapters = adapters;
    this.#jobs = jobs;
  }

  /** The status of a channel whose credentials are new. */
  firstStatus(type: ChannelType): ChannelState['status'] {
    const { needsConsent, check } = adapterOf(this.#adapters, type);
    return needsConsent === true || check !== undefined ? 'pending' : 'connected';
  }

  async queue(db: Queryable, { tenantId, id }: { tenantId: string; id: string }): Promise<void> {
    await this.#jobs.add(db, { task: 'check_channel', tenantId, ids: { channelId: id }, key: id });
  }
}
