import type { Jobs } from '@gatehouse/jobs/jobs';
import type { Queryable } from '@gatehouse/pg/pool';
import type { tasks } from '../tasks.ts';
import { burst } from './burst.ts';

interface Ref {
  tenantId: string;
  id: string;
}

/** Queues work on conversations, in the transaction of what causes it. Work on one conversation is done in order. */
export class ConversationQueue {
  readonly #jobs: Jobs<typeof tasks>;

  constructor(jobs: Jobs<typeof tasks>) {
    this.#jobs = jobs;
  }

  /** Answers what waits, when no more can belong to it, or in some seconds. */
  async answer(db: Queryable, { tenantId, id }: Ref, afterS: number = burst.seconds): Promise<void> {
    const ids = { conversationId: id };
    await this.#jobs.add(db, { task: 'converse', tenantId, ids, key: id, afterS });
  }

  /** Goes on with conversations of a tenant. */
  async resume(db: Queryable, waiting: readonly Ref[]): Promise<void> {
    // In one order in every transaction, because each job that waits is locked.
    for (const conversation of waiting.toSorted((a, b) => a.id.localeCompare(b.id))) {
      await this.answer(db, conversation);
      await this.send(db, conversation);
    }
  }

  /** Sends the replies that wait: now, or in some seconds. */
  async send(db: Queryable, { tenantId, id }: Ref, afterS = 0): Promise<void> {
    const ids = { conversationId: id };
    await this.#jobs.add(db, { task: 'send_replies', tenantId, ids, key: id, afterS });
  }
}
