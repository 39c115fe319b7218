import type { DeliverTo } from '@gatehouse/contract/webhook-endpoints';
import type { Queryable } from '@gatehouse/pg/pool';
import type { Ref } from './ref.ts';

/** Sends the answer of a call to its conversation, once the transaction commits; nothing without one. */
export type QueueAnswer = (db: Queryable, call: Ref & { deliverTo: DeliverTo | null }) => Promise<void>;
