import type { Jobs } from '@gatehouse/jobs/jobs';
import type { Queryable } from '@gatehouse/pg/pool';
import type { tasks } from '../jobs/tasks.ts';
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

  /** Answers what waits, when no more can belong to it. */
  async answer(db: Queryable, { tenantId, id }: Ref): Promise<void> {
    const ids = { conversationId: id };
    await this.#jobs.add(db, { task: 'converse', tenantId, ids, queue: id, afterS: burst.seconds });
  }

  /** Goes on with conversations of a tenant. */
  async resume(db: Queryable, waiting: readonly Ref[]): Promise<void> {
    for (const conversation of waiting) {
      await this.answer(db, conversation);
      await this.send(db, conversation);
    }
  }

  /** Sends the replies that wait: now, or in some seconds. */
  async send(db: Queryable, { tenantId, id }: Ref, afterS = 0): Promise<void> {
    const ids = { conversationId: id };
    await this.#jobs.add(db, { task: 'send_replies', tenantId, ids, queue: id, afterS });
  }
}
