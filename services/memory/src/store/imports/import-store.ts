import { batchPassages } from '../../bounds.ts';
import { withTenant, type Queryable } from '@gatehouse/pg/pool';
import { Store } from '@gatehouse/pg/store';
import type { NewDocument } from '../../documents/document.ts';
import type { NumberedDocument } from '../../moving/record-batches.ts';
import type { MemoryKey } from '../../shared/memory-key.ts';
import { storeDocument } from '../documents/document-store.ts';
import { wasDeleted } from '../scopes/deleted-user-store.ts';
import { growTenant, holdMemory, lockScopes, type MemoryLimits } from '../scopes/scope-store.ts';
import { promoteImport } from './promotion-store.ts';
import {
  beginImport,
  keepAlive,
  markReplaced,
  publishImport,
  stageDocuments,
  stagePassages,
  userDeleted,
  type ImportKey,
  type OpenDocument,
  type OpenPassage,
} from './import-row-store.ts';
import {
  discardImport,
  discardReplacedScopes,
  finishPublished,
  removeDiscarded,
  type GenerationKey,
  type ImportState,
} from './purge-store.ts';

/** Counts of the rows an import adds. */
export interface Imported {
  documents: number;
  chunks: number;
}

/** Imports, each in many short transactions. `pool` acts as `memory_app`. */
export class ImportStore extends Store {
  /** Returns null while another import into the agent is under way. */
  async begin(key: MemoryKey): Promise<ImportKey | null> {
    for (;;) {
      const begun = await this.#run(key, (db) => beginImport(db, key));
      if (begun.kind === 'busy') return null;
      if (begun.kind === 'begun') return { ...key, generation: begun.generation, analyser: begun.analyser };
      await this.#promote({ ...key, generation: begun.smallest });
    }
  }

  /** Stores documents out of sight. Throws `invalid_value` for one the import already has. */
  async stage(key: ImportKey, documents: readonly NumberedDocument[]): Promise<void> {
    const open = await this.#run(key, (db) => stageDocuments(db, key, documents));
    const passages = open.flatMap(passagesOf);
    for (let at = 0; at < passages.length; at += batchPassages) {
      const batch = passages.slice(at, at + batchPassages);
      await this.#run(key, (db) => stagePassages(db, key, batch));
    }
    await this.#run(key, (db) => markReplaced(db, key, documents));
  }

  async keepAlive(key: ImportKey): Promise<void> {
    await this.#run(key, (db) => keepAlive(db, key));
  }

  /** Makes all staged documents visible. Throws `limit_reached`, and `not_found` if the agent was deleted. */
  async publish(db: Queryable, key: ImportKey, limits: MemoryLimits): Promise<Imported> {
    const { documents, chunks, bytes, replaced } = await publishImport(db, key);
    const growth = { documents: documents - replaced.documents, bytes: bytes - replaced.bytes };
    await growTenant(db, key.tenantId, growth, limits);
    return { documents, chunks };
  }

  /** Stores a few documents at once, in the transaction of `db`. Throws like `publish`. */
  async put(
    db: Queryable,
    key: MemoryKey,
    documents: readonly NewDocument[],
    limits: MemoryLimits,
  ): Promise<Imported> {
    await this.#lockUsers(db, key, documents);
    const growth = { documents: 0, bytes: 0 };
    for (const document of documents) {
      const put = await storeDocument(db, key, document, true);
      if (put === null) throw userDeleted();
      growth.documents += put.growth.documents;
      growth.bytes += put.growth.bytes;
    }
    await growTenant(db, key.tenantId, growth, limits);
    return {
      documents: documents.length,
      chunks: documents.reduce((sum, { passages }) => sum + passages.length, 0),
    };
  }

  /**
   * Ends an import, unless it is published. `onlyDead`: only if it gives no sign of life. Returns what `finish` has to
   * do for it.
   */
  async discard(key: GenerationKey, { onlyDead = false } = {}): Promise<ImportState | null> {
    return this.#run(key, (db) => discardImport(db, key, onlyDead));
  }

  /** Removes what a discarded import has stored, or what a published one has replaced, until `signal` aborts. */
  async finish(key: GenerationKey, state: ImportState, signal: AbortSignal): Promise<void> {
    if (state === 'discarded') await this.#repeat(key, removeDiscarded, signal);
    if (state !== 'published') return;
    const discarded: GenerationKey[] = [];
    for (;;) {
      const generation = await this.#run(key, (db) => discardReplacedScopes(db, key));
      if (generation === null) break;
      discarded.push(generation);
    }
    await this.#repeat(key, finishPublished, signal);
    for (const generation of discarded) await this.#repeat(generation, removeDiscarded, signal);
  }

  /** Repeats a short transaction until it returns true. */
  async #repeat(
    key: GenerationKey,
    step: (db: Queryable, key: GenerationKey) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted && !(await this.#run(key, (db) => step(db, key))));
  }

  async #promote(key: ImportKey): Promise<void> {
    while (!(await this.#run(key, (db) => promoteImport(db, key))));
  }

  /** Locks all users in one order before any of their documents is written. */
  async #lockUsers(db: Queryable, key: MemoryKey, documents: readonly NewDocument[]): Promise<void> {
    const { tenantId } = key;
    const requestedAt = new Map(documents.map(({ userId, at }) => [userId, at]));
    const users = [...requestedAt.keys()].sort();
    await holdMemory(db, key);
    for (const [userId, at] of requestedAt)
      if (await wasDeleted(db, { tenantId, userId, at })) throw userDeleted();
    await db.query(
      `insert into memory.scopes (tenant_id, agent_id, user_id) select $1, $2, unnest($3::text[])
       on conflict do nothing`,
      [key.tenantId, key.agentId, users],
    );
    await lockScopes(db, key, users);
  }

  #run<Result>(
    { tenantId }: Pick<MemoryKey, 'tenantId'>,
    work: (db: Queryable) => Promise<Result>,
  ): Promise<Result> {
    return withTenant(this.pool, tenantId, work);
  }
}

function passagesOf({ id, scopeId, passages }: OpenDocument): OpenPassage[] {
  return passages.map((passage) => ({ ...passage, documentId: id, scopeId }));
}
