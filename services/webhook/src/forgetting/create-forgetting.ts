import type { Pool } from '@gatehouse/pg/pool';
import { CallStore } from '../calls/call-store.ts';
import { MessageStore } from '../conversations/message-store.ts';
import { forgetUser } from './forget-user-job.ts';

/** Deletions of what users did. `app`: a pool of `webhook_app`. */
export function createForgetting(app: Pool) {
  return { forgetUser: forgetUser(app, new CallStore(app), new MessageStore(app)) };
}
