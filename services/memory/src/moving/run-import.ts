import { maxImportedDocuments } from '@gatehouse/contract/memory';
import { AppError } from '@gatehouse/kit/errors';
import type { Passage } from '../documents/split-markdown.ts';
import {
  assertDistinct,
  batchesOf,
  isSmall,
  type NumberedDocument,
  type NumberedRecord,
  type RecordBatch,
} from './record-batches.ts';

/** How the documents of an import are stored. */
export interface ImportSteps<Outcome> {
  /** Stores a few documents at once. */
  put(documents: readonly NumberedDocument[]): Promise<Outcome>;
  /** Begins to store documents out of sight. */
  begin(): Promise<StagedImport<Outcome>>;
}

/** Splits texts into passages. */
export type SplitAll = (texts: readonly string[]) => Promise<Passage[][]>;

export interface StagedImport<Outcome> {
  stage(documents: readonly NumberedDocument[]): Promise<void>;
  /** Makes all staged documents visible. */
  publish(): Promise<Outcome>;
  /** Removes what was stored. Doesn't throw. */
  discard(): Promise<void>;
}

/** Stores the records of an import: all of them, or nothing when it throws. */
export async function runImport<Outcome>(
  records: AsyncIterable<NumberedRecord>,
  splitAll: SplitAll,
  steps: ImportSteps<Outcome>,
): Promise<Outcome> {
  const at = new Date();
  const split = (batch: RecordBatch): Promise<NumberedDocument[]> => documentsOf(batch, splitAll, at);
  const batches = batchesOf(records);
  try {
    const first = await nextOf(batches);
    if (first === null) return await steps.put([]);
    const read = [first];
    if (isSmall(first)) {
      const second = await nextOf(batches);
      if (second === null) {
        const documents = await split(first);
        assertDistinct(documents);
        return await steps.put(documents);
      }
      read.push(second);
    }
    return await stageAll(read, batches, split, await steps.begin());
  } finally {
    await batches.return();
  }
}

async function nextOf(batches: AsyncGenerator<RecordBatch, void>): Promise<RecordBatch | null> {
  const next = await batches.next();
  return next.done === true ? null : next.value;
}

async function stageAll<Outcome>(
  read: readonly RecordBatch[],
  batches: AsyncIterable<RecordBatch>,
  split: (batch: RecordBatch) => Promise<NumberedDocument[]>,
  staged: StagedImport<Outcome>,
): Promise<Outcome> {
  let documents = 0;
  const stage = async (batch: RecordBatch): Promise<void> => {
    documents += batch.records.length;
    if (documents > maxImportedDocuments)
      throw new AppError(
        'invalid_value',
        `An import must not have more than ${maxImportedDocuments} documents.`,
      );
    await staged.stage(await split(batch));
  };
  try {
    for (const batch of read) await stage(batch);
    for await (const batch of batches) await stage(batch);
    return await staged.publish();
  } catch (error) {
    await staged.discard();
    throw error;
  }
}

async function documentsOf(
  { records }: RecordBatch,
  splitAll: SplitAll,
  at: Date,
): Promise<NumberedDocument[]> {
  const split = await splitAll(records.map(({ record }) => record.text));
  return records.map(({ line, record }, index) => ({
    line,
    path: record.path,
    userId: record.userId,
    title: record.title,
    metadata: record.metadata,
    source: record.source,
    text: record.text,
    passages: split[index] ?? [],
    createdAt: record.created_at,
    updatedAt: record.updated_at,
    at,
  }));
}
