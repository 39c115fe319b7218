import type { Queryable } from '@gatehouse/pg/pool';
import type { AgentKey } from './scope-store.ts';

/** Adds a job for the memory of an agent, in the transaction of a change, unless one waits already. */
export type RequestJob = (db: Queryable, key: AgentKey, runAt?: Date) => Promise<void>;
