import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import type { Ground } from '../ground.ts';
import { noteWoken } from './message-store.ts';
import { burst } from './burst.ts';
import { findOverdueConversations } from './conversation-system-store.ts';
import type { Ref } from '../shared/ref.ts';
import type { WebhookJobs } from '../shared/tasks.ts';
import { batchRows, overdueMs } from '../bounds.ts';

/** Queues work on conversations, in the transaction of what causes it. Work on one conversation is done in order. */
export class ConversationQueue {
  readonly #jobs: WebhookJobs;

  constructor(jobs: WebhookJobs) {
    this.#jobs = jobs;
  }

  /** Answers what waits, when no more can belong to it, or in some seconds. */
  async answer(db: Queryable, { tenantId, id }: Ref, afterS: number = burst.seconds): Promise<void> {
    const ids = { conversationId: id };
    await this.#jobs.add(db, { task: 'converse', tenantId, ids, key: id, afterS });
  }

  /** Goes on with conversations of a tenant. */
  async resume(db: Queryable, waiting: readonly Ref[]): Promise<void> {
    // In one order in every transaction, because each waiting job is locked.
    for (const conversation of waiting.toSorted((a, b) => a.id.localeCompare(b.id))) {
      await this.answer(db, conversation);
      await this.send(db, conversation);
    }
  }

  /** Sends the waiting replies: now, or in some seconds. */
  async send(db: Queryable, { tenantId, id }: Ref, afterS = 0): Promise<void> {
    const ids = { conversationId: id };
    await this.#jobs.add(db, { task: 'send_replies', tenantId, ids, key: id, afterS });
  }
}

/** Queues overdue work on conversations: a job was lost, or a tenant was not active. */
export async function wakeConversations({
  app,
  system,
  conversations,
  tenants,
}: Pick<Ground, 'app' | 'system' | 'tenants'> & { conversations: ConversationQueue }): Promise<boolean> {
  const overdue = await findOverdueConversations(system, { seconds: overdueMs / 1_000, limit: batchRows });
  for (const { tenantId, conversationId: id, answers, sends } of overdue) {
    const isActive = await tenants.isActive(tenantId);
    await withTenant(app, tenantId, async (db) => {
      await noteWoken(db, id);
      if (isActive && answers) await conversations.answer(db, { tenantId, id });
      if (isActive && sends) await conversations.send(db, { tenantId, id });
    });
  }
  return false;
}
