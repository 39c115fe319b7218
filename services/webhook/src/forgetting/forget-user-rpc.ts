import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { ForgetUserRequest, ForgetUserResponse } from '@gatehouse/proto/webhook/v1/webhook';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import { noteDeletedUser } from './deleted-user-statements.ts';
import type { CallStore } from '../calls/call-store.ts';
import type { MessageStore } from '../conversations/message-store.ts';

const batch = 500;

/** Removes the calls that were for a user, and the messages of a user of a channel with the replies to them. */
export function forgetUser(
  app: Pool,
  calls: CallStore,
  messages: MessageStore,
): Rpc<ForgetUserRequest, ForgetUserResponse> {
  return {
    callers: ['tenant'],
    handle: async ({ tenantId, userId, requestedAtMs }) => {
      if (!isUuid(tenantId) || userId === '')
        throw new AppError('invalid_value', 'A deletion needs a tenant and a user.');
      const of = { tenantId, userId, before: new Date(Number(requestedAtMs)) };
      await withTenant(app, tenantId, (db) => noteDeletedUser(db, of));
      const removed = await calls.forget(of, batch);
      const said = await messages.forget(of, batch);
      return {
        counts: { webhook_calls: BigInt(removed), channel_messages: BigInt(said) },
        completed: removed < batch && said < batch,
      };
    },
  };
}
