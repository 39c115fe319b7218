import { monotonicMs } from '@gatehouse/kit/clock';
import type { Queryable } from '@gatehouse/pg/pool';
import { actAs } from '@gatehouse/transfers/store/transfer-state';
import type { StepWork } from '@gatehouse/transfers/run-step';
import type { Transfer, TransferItem, TransferStep } from '@gatehouse/transfers/transfer';
import type { RequestJob } from '../store/request-job.ts';
import type { MemoryLimits } from '../store/scope-statements.ts';
import { markAgentDeleted } from '../store/scope-statements.ts';
import {
  copyBatch,
  findParts,
  isBeingImported,
  isEmpty,
  lockMemory,
  makeMemory,
  readProgress,
  setProgress,
  unlockMemory,
  waitsForEmbeddings,
  type Part,
  type PartTable,
} from '../store/transfer-statements.ts';

export interface MemoryStepsOptions {
  limitsOf: (tenantId: string) => Promise<MemoryLimits>;
  requestEmbeddings: RequestJob;
  /** Removes the memory of an agent that is marked as deleted. */
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

/** How long one call copies. */
const budgetMs = 3_000;

/**
 * The part of memory and graph in a transfer. Both modes copy while the agent still answers: in the target, nothing asks
 * for an agent that is not there yet. What moves is removed from the source when the transfer is effective.
 */
export class MemorySteps {
  readonly #options: MemoryStepsOptions;

  constructor(options: MemoryStepsOptions) {
    this.#options = options;
  }

  get steps(): Record<TransferStep, StepWork> {
    return {
      lock: lock,
      copy: (db, transfer) => this.#copy(db, transfer),
      close: () => Promise.resolve(true),
      commit: (db, transfer) => this.#commit(db, transfer),
      abort: (db, transfer) => this.#abort(db, transfer),
    };
  }

  async #copy(db: Queryable, transfer: Transfer): Promise<boolean> {
    const limits = await this.#options.limitsOf(transfer.targetTenantId);
    const until = monotonicMs() + budgetMs;
    const progress = await readProgress(db, transfer.id);
    let index = 0;
    for await (const unit of unitsOf(db, transfer)) {
      index += 1;
      while (progress.done < index) {
        const after = await copyBatch(db, transfer, { ...unit, after: progress.after, limits });
        Object.assign(progress, after === null ? { done: index, after } : { after });
        if (monotonicMs() > until) {
          await setProgress(db, transfer.id, progress);
          return false;
        }
      }
    }
    await setProgress(db, transfer.id, progress);
    return true;
  }

  async #commit(db: Queryable, transfer: Transfer): Promise<boolean> {
    const { sourceTenantId, targetTenantId, mode } = transfer;
    for (const { id, targetId } of agentsOf(transfer)) {
      await unlockMemory(db, id, transfer.id);
      if (mode === 'move') {
        const key = { tenantId: sourceTenantId, agentId: id };
        await markAgentDeleted(db, key);
        await this.#options.requestRemoval(db, key);
      }
      await actAs(db, targetTenantId);
      const target = { tenantId: targetTenantId, agentId: targetId };
      if (await waitsForEmbeddings(db, target)) await this.#options.requestEmbeddings(db, target);
      await actAs(db, sourceTenantId);
    }
    return true;
  }

  async #abort(db: Queryable, transfer: Transfer): Promise<boolean> {
    for (const { id, targetId } of agentsOf(transfer)) {
      // Without the lock, nothing of it was brought to the target.
      if (!(await unlockMemory(db, id, transfer.id))) continue;
      await actAs(db, transfer.targetTenantId);
      const key = { tenantId: transfer.targetTenantId, agentId: targetId };
      await markAgentDeleted(db, key);
      await this.#options.requestRemoval(db, key);
      await actAs(db, transfer.sourceTenantId);
    }
    return true;
  }
}

/** Waits for imports into the source, and for the removal of what the target had of the same agent before. */
async function lock(db: Queryable, transfer: Transfer): Promise<boolean> {
  const { sourceTenantId, targetTenantId } = transfer;
  for (const { id, targetId } of agentsOf(transfer)) {
    if (await isBeingImported(db, id)) return false;
    await actAs(db, targetTenantId);
    const hasRoom = await isEmpty(db, targetId);
    await actAs(db, sourceTenantId);
    if (!hasRoom) return false;
  }
  for (const { id, targetId } of agentsOf(transfer)) {
    const memory = await lockMemory(db, { tenantId: sourceTenantId, agentId: id }, transfer.id);
    await actAs(db, targetTenantId);
    await makeMemory(db, { tenantId: targetTenantId, agentId: targetId }, memory);
    await actAs(db, sourceTenantId);
  }
  return true;
}

/** What is copied one after the other: the tables of each scope, then those of each graph. */
async function* unitsOf(
  db: Queryable,
  transfer: Transfer,
): AsyncGenerator<{ item: TransferItem; part: Part; table: PartTable }> {
  for (const item of agentsOf(transfer))
    for (const stage of stagesOf(transfer))
      for (const part of await findParts(db, { agentId: item.id, isGraph: stage !== 'scope' }))
        for (const table of tables[stage]) yield { item, part, table };
}

function agentsOf({ items }: Transfer): TransferItem[] {
  return items
    .filter(({ type, action }) => type === 'agent' && action !== 'skip')
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function stagesOf({ includeMemory, includeKnowledgeGraph }: Transfer): Stage[] {
  return stages.filter((stage) => (stage === 'scope' ? includeMemory : includeKnowledgeGraph));
}
