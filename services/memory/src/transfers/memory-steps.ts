import { budgetMs } from '../bounds.ts';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Queryable } from '@gatehouse/pg/pool';
import { inTarget } from '@gatehouse/transfers/store/transfer-state';
import type { StepWork } from '@gatehouse/transfers/run-step';
import { itemsOf, type Transfer, type TransferItem, type TransferStep } from '@gatehouse/transfers/transfer';
import { everything, forgetDocuments } from '../store/documents/removal-store.ts';
import { removeGraphBatch } from '../store/graph/graph-forget-store.ts';
import type { RequestJob } from '../store/scopes/job-request.ts';
import { type MemoryLimits, deleteScopes, markAgentDeleted } from '../store/scopes/scope-store.ts';
import {
  copyBatch,
  findParts,
  growTarget,
  isBeingImported,
  isEmpty,
  isMixed,
  lockMemory,
  makeMemory,
  readProgress,
  setProgress,
  unlockMemory,
  usersDeletedSince,
  waitsForEmbeddings,
  type DeletedUser,
  type Grown,
  type CopiedPart,
  type Progress,
} from '../store/transfers/transfer-row-store.ts';
import type { PartTable } from '../store/transfers/copied-tables.ts';

export interface MemoryStepsOptions {
  limitsOf: (tenantId: string) => Promise<MemoryLimits>;
  requestEmbeddings: RequestJob;
  requestReindex: RequestJob;
  /** Removes the memory of an agent marked as deleted. */
  requestRemoval: RequestJob;
}

/** Tables of the scopes and graphs of an agent, in the order in which they are copied. */
const tables = {
  scope: ['documents', 'chunks', 'postings', 'embeddings'],
  entities: ['entities'],
  relations: ['relations'],
} as const satisfies Record<string, readonly PartTable[]>;
type Stage = keyof typeof tables;
const stages: readonly Stage[] = ['scope', 'entities', 'relations'];

/**
 * The part of memory and graph in a transfer. Both modes copy while the agent still answers: in the target, nothing
 * asks for an agent not there yet. Moved rows are removed from the source when the transfer is effective.
 */
export class MemorySteps {
  readonly #options: MemoryStepsOptions;

  constructor(options: MemoryStepsOptions) {
    this.#options = options;
  }

  get steps(): Record<TransferStep, StepWork> {
    return {
      lock: (db, transfer) => this.#lock(db, transfer),
      copy: (db, transfer) => this.#copy(db, transfer),
      close: () => Promise.resolve(true),
      commit: (db, transfer) => this.#commit(db, transfer),
      abort: (db, transfer) => this.#abort(db, transfer),
    };
  }

  /** Waits for imports into the source, and for the removal of what the target had of the same agent before. */
  async #lock(db: Queryable, transfer: Transfer): Promise<boolean> {
    const { sourceTenantId, targetTenantId } = transfer;
    for (const { id, targetId } of itemsOf(transfer, 'agent')) {
      if (await isBeingImported(db, id)) return false;
      if (!(await inTarget(db, transfer, () => isEmpty(db, targetId)))) return false;
    }
    for (const { id, targetId } of itemsOf(transfer, 'agent')) {
      const memory = await lockMemory(db, { tenantId: sourceTenantId, agentId: id }, transfer.id);
      const key = { tenantId: targetTenantId, agentId: targetId };
      await inTarget(db, transfer, () => makeMemory(db, key, memory, transfer.id));
    }
    // An import may have begun while the lock waited for writers. No import begins from now on.
    for (const { id } of itemsOf(transfer, 'agent'))
      if (await isBeingImported(db, id)) return this.#unlockAll(db, transfer);
    return true;
  }

  /** Undoes the lock, which is tried again. */
  async #unlockAll(db: Queryable, transfer: Transfer): Promise<false> {
    for (const { id, targetId } of itemsOf(transfer, 'agent')) {
      await unlockMemory(db, id, transfer.id);
      await this.#removeFromTarget(db, transfer, targetId);
    }
    return false;
  }

  async #removeFromTarget(db: Queryable, transfer: Transfer, agentId: string): Promise<void> {
    const key = { tenantId: transfer.targetTenantId, agentId };
    await inTarget(db, transfer, async () => {
      await unlockMemory(db, agentId, transfer.id);
      await markAgentDeleted(db, key);
      await this.#options.requestRemoval(db, key);
    });
  }

  async #copy(db: Queryable, transfer: Transfer): Promise<boolean> {
    const limits = await this.#options.limitsOf(transfer.targetTenantId);
    const until = monotonicMs() + budgetMs;
    const progress = await readProgress(db, transfer.id);
    const grown: Grown = { documents: 0, bytes: 0, entities: 0, relations: 0 };
    const isCopied = await copyUnits(db, transfer, { progress, grown, until });
    await setProgress(db, transfer.id, progress);
    await growTarget(db, transfer, grown, limits);
    return isCopied;
  }

  async #commit(db: Queryable, transfer: Transfer): Promise<boolean> {
    const { sourceTenantId, targetTenantId, mode } = transfer;
    const { requestEmbeddings, requestReindex, requestRemoval } = this.#options;
    if (!(await forgetDeletedUsers(db, transfer))) return false;
    for (const { id, targetId } of itemsOf(transfer, 'agent')) {
      await unlockMemory(db, id, transfer.id);
      if (mode === 'move') {
        const key = { tenantId: sourceTenantId, agentId: id };
        await markAgentDeleted(db, key);
        await requestRemoval(db, key);
      }
      const target = { tenantId: targetTenantId, agentId: targetId };
      await inTarget(db, transfer, async () => {
        await unlockMemory(db, targetId, transfer.id);
        if (await waitsForEmbeddings(db, target)) await requestEmbeddings(db, target);
        if (await isMixed(db, target)) await requestReindex(db, target);
      });
    }
    return true;
  }

  async #abort(db: Queryable, transfer: Transfer): Promise<boolean> {
    for (const { id, targetId } of itemsOf(transfer, 'agent')) {
      // Without the lock, nothing of it was brought to the target.
      if (await unlockMemory(db, id, transfer.id)) await this.#removeFromTarget(db, transfer, targetId);
    }
    return true;
  }
}

/** Copies until the time is over. Returns whether everything is copied. */
async function copyUnits(
  db: Queryable,
  transfer: Transfer,
  { progress, grown, until }: { progress: Progress; grown: Grown; until: number },
): Promise<boolean> {
  let index = 0;
  for await (const unit of unitsOf(db, transfer)) {
    index += 1;
    while (progress.done < index) {
      const batch = await copyBatch(db, transfer, { ...unit, after: progress.after });
      Object.assign(progress, batch === null ? { done: index, after: null } : { after: batch.last });
      for (const kind of ['documents', 'bytes', 'entities', 'relations'] as const)
        grown[kind] += batch?.grown[kind] ?? 0;
      if (monotonicMs() > until) return false;
    }
  }
  return true;
}

/**
 * Carries out, in the target, deletions of users' data requested in the source meanwhile, where the transfer kept the
 * data. Returns false when more is to be removed.
 */
async function forgetDeletedUsers(db: Queryable, transfer: Transfer): Promise<boolean> {
  const until = monotonicMs() + budgetMs;
  for (const { id, targetId: agentId } of itemsOf(transfer, 'agent')) {
    const users = await usersDeletedSince(db, transfer, id);
    const key = { tenantId: transfer.targetTenantId, agentId };
    if (!(await inTarget(db, transfer, () => forgetUsers(db, key, { users, until })))) return false;
  }
  return true;
}

/** Returns false when the time is over before all of it is removed. */
async function forgetUsers(
  db: Queryable,
  key: { tenantId: string; agentId: string },
  { users, until }: { users: readonly DeletedUser[]; until: number },
): Promise<boolean> {
  const { tenantId, agentId } = key;
  for (const { userId, requestedAt } of users) {
    const documents = everything([userId], requestedAt);
    while (!(await forgetDocuments(db, key, documents, { staged: true })).done)
      if (monotonicMs() > until) return false;
    const graph = { agentId, userId, runId: null, until: requestedAt, wasDeleted: false };
    while ((await removeGraphBatch(db, tenantId, graph)) !== null) if (monotonicMs() > until) return false;
    await deleteScopes(db, key, [userId]);
  }
  return true;
}

/** Units to copy one after the other: the tables of each scope, then those of each graph. */
async function* unitsOf(
  db: Queryable,
  transfer: Transfer,
): AsyncGenerator<{ item: TransferItem; part: CopiedPart; table: PartTable }> {
  for (const item of itemsOf(transfer, 'agent'))
    for (const stage of stagesOf(transfer))
      for (const part of await findParts(db, { agentId: item.id, isGraph: stage !== 'scope' }))
        for (const table of tables[stage]) yield { item, part, table };
}

function stagesOf({ includeMemory, includeKnowledgeGraph }: Transfer): Stage[] {
  return stages.filter((stage) => (stage === 'scope' ? includeMemory : includeKnowledgeGraph));
}
