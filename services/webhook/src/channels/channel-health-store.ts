import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { Queryable } from '@gatehouse/pg/pool';
import type { RaiseEvent } from '../shared/raise-event.ts';
import type { ChannelStore } from './channel-store.ts';
import type { Channel, ChannelState, ConnectedChannel } from './channel.ts';
import { maxReasonChars } from '../bounds.ts';

/** Notes how channels are doing, and raises an event when one needs its tenant. */
export class ChannelHealth {
  readonly #store: ChannelStore;
  readonly #raiseEvent: RaiseEvent;
  readonly #log: Logger;

  constructor(options: { store: ChannelStore; raise: RaiseEvent; log: Logger }) {
    this.#store = options.store;
    this.#raiseEvent = options.raise;
    this.#log = options.log;
  }

  async note(channel: ConnectedChannel, { status, status_reason: reason }: ChannelState): Promise<void> {
    if (channel.status === status && channel.status_reason === reason) return;
    const state = { status, status_reason: reason?.slice(0, maxReasonChars) ?? null };
    await this.#store.setState(channel, state, async (db) => {
      if (status === 'needs_reauth' && channel.status !== 'needs_reauth') await this.#raise(db, channel);
    });
  }

  async #raise(db: Queryable, { id, tenantId, name, type }: Channel): Promise<void> {
    this.#log.warn(
      { channel_id: id, tenant_id: tenantId },
      'the provider no longer accepts the credentials of a channel',
    );
    const data = { channel_id: id, name, type };
    await this.#raiseEvent(db, tenantId, { id: newId(), type: 'channel.needs_reauth', data });
  }
}
