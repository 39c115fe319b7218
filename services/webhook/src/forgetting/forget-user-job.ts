import type { DeletionInboxOptions } from '@gatehouse/shell/deletion-inbox';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { CallStore } from '../calls/call-store.ts';
import { MessageStore } from '../conversations/message-store.ts';
import { noteDeletedUser } from './deleted-user-store.ts';
import { batchRows } from '../bounds.ts';

/**
 * Removes the calls for a user, and the messages of a user of a channel with the replies to them. `app`: a pool of
 * `webhook_app`.
 */
export function forgetUser(app: Pool): DeletionInboxOptions['forgetUser'] {
  const [calls, messages] = [new CallStore(app), new MessageStore(app)];
  return async ({ tenantId, userId, requestedAt: before }) => {
    const user = { tenantId, userId, before };
    await withTenant(app, tenantId, (db) => noteDeletedUser(db, user));
    const counts = {
      webhook_calls: await calls.forget(user, batchRows),
      channel_messages: await messages.forget(user, batchRows),
    };
    return { counts, completed: Math.max(...Object.values(counts)) < batchRows };
  };
}
