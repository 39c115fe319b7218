import type { DeletionInboxOptions } from '@gatehouse/shell/deletion-inbox';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { noteDeletedUser } from './deleted-user-store.ts';
import type { CallStore } from '../calls/call-store.ts';
import type { MessageStore } from '../conversations/message-store.ts';

const batch = 500;

/** Removes the calls that were for a user, and the messages of a user of a channel with the replies to them. */
export function forgetUser(
  app: Pool,
  calls: CallStore,
  messages: MessageStore,
): DeletionInboxOptions['forgetUser'] {
  return async ({ tenantId, userId, requestedAt: before }) => {
    const user = { tenantId, userId, before };
    await withTenant(app, tenantId, (db) => noteDeletedUser(db, user));
    const counts = {
      webhook_calls: await calls.forget(user, batch),
      channel_messages: await messages.forget(user, batch),
    };
    return { counts, completed: Math.max(...Object.values(counts)) < batch };
  };
}
