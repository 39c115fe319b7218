import { budgetMs } from '../../bounds.ts';
import { monotonicMs } from '@gatehouse/kit/clock';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { ErasedRows } from '../../documents/forget.ts';
import type { MemoryKey } from '../../shared/memory-key.ts';
import { everything, forgetDocuments, type Removed } from '../documents/removal-store.ts';
import { GraphForgetStore } from '../graph/graph-forget-store.ts';
import type { GraphGrowth } from '../graph/graph-row-store.ts';
import { noteDeletedUser, type UserDeletion } from '../scopes/deleted-user-store.ts';
import type { RequestJob } from '../scopes/job-request.ts';
import {
  deleteScopes,
  isAgentDeleted,
  markAgentDeleted,
  memoriesOfUser,
  type AgentKey,
} from '../scopes/scope-store.ts';

/** Counts of removed rows, by kind. */
export type RemovedAll = Removed & GraphGrowth;

export interface RemovedOfUser extends RemovedAll {
  /** False when more is to be removed. */
  completed: boolean;
}

/** Removes in short transactions: a large memory delays no other writer for long. */
export class ForgetStore {
  readonly #pool: Pool;
  readonly #graphs: GraphForgetStore;

  /** `pool` acts as `memory_app`. */
  constructor(pool: Pool) {
    this.#pool = pool;
    this.#graphs = new GraphForgetStore(pool);
  }

  /** Removes everything matching. Resolves when nothing of it is left. */
  async forget(key: MemoryKey, which: ErasedRows): Promise<RemovedAll> {
    const { documents, chunks } = await this.#remove(key.tenantId, Infinity, (db) =>
      // A current import comes after it.
      forgetDocuments(db, key, which, { staged: false }),
    );
    const { entities, relations } = await this.#graphs.forget(key, which);
    return { documents, chunks, entities, relations };
  }

  /** Stops writes to the memory of a deleted agent, and requests the job to remove it. */
  async closeAgent(key: AgentKey, requestRemoval: RequestJob): Promise<void> {
    await withTenant(this.#pool, key.tenantId, async (db) => {
      await markAgentDeleted(db, key);
      await requestRemoval(db, key);
    });
  }

  /** Stops writes to the memory of an agent and removes it. Returns false when more is to be removed. */
  async forgetAgent(key: AgentKey): Promise<boolean> {
    await withTenant(this.#pool, key.tenantId, (db) => markAgentDeleted(db, key));
    return this.#removeAgent(key);
  }

  /** Removes the memory of an agent if it is marked as deleted. Returns false when more is to be removed. */
  async removeDeleted(key: AgentKey): Promise<boolean> {
    const isDeleted = await withTenant(this.#pool, key.tenantId, (db) => isAgentDeleted(db, key));
    return !isDeleted || this.#removeAgent(key);
  }

  async #removeAgent(key: AgentKey): Promise<boolean> {
    const { completed } = await this.#remove(key.tenantId, budgetMs, (db) =>
      forgetDocuments(db, key, everything('all'), { staged: true, wasDeleted: true }),
    );
    if (!completed) return false;
    await withTenant(this.#pool, key.tenantId, (db) => deleteScopes(db, key, 'all'));
    return (await this.#graphs.forgetAgent(key, budgetMs)).completed;
  }

  /** Refuses what a user did up to a time and is still under way, and removes what is stored of it. */
  async forgetUser(user: UserDeletion): Promise<RemovedOfUser> {
    const { tenantId } = user;
    await withTenant(this.#pool, tenantId, (db) => noteDeletedUser(db, user));
    const { documents, chunks, completed } = await this.#documentsOf(user);
    if (!completed) return { documents, chunks, entities: 0, relations: 0, completed };
    return { documents, chunks, ...(await this.#graphs.forgetUser(user, budgetMs)) };
  }

  async #documentsOf({
    tenantId,
    userId,
    requestedAt,
  }: UserDeletion): Promise<Removed & { completed: boolean }> {
    const all = { documents: 0, chunks: 0, completed: true };
    const agents = await withTenant(this.#pool, tenantId, (db) => memoriesOfUser(db, tenantId, userId));
    const startedAt = monotonicMs();
    for (const agentId of agents) {
      const left = budgetMs - (monotonicMs() - startedAt);
      const key = { tenantId, agentId };
      const removed = await this.#remove(tenantId, left, (db) =>
        forgetDocuments(db, key, everything([userId], requestedAt), { staged: true }),
      );
      all.documents += removed.documents;
      all.chunks += removed.chunks;
      if (!removed.completed) return { ...all, completed: false };
      await withTenant(this.#pool, tenantId, (db) => deleteScopes(db, key, [userId]));
    }
    return all;
  }

  async #remove(
    tenantId: string,
    forMs: number,
    batch: (db: Queryable) => Promise<Removed & { done: boolean }>,
  ): Promise<Removed & { completed: boolean }> {
    const removed = { documents: 0, chunks: 0, completed: false };
    for (const startedAt = monotonicMs(); monotonicMs() - startedAt < forMs;) {
      const { documents, chunks, done } = await withTenant(this.#pool, tenantId, batch);
      removed.documents += documents;
      removed.chunks += chunks;
      if (done) return { ...removed, completed: true };
    }
    return removed;
  }
}
