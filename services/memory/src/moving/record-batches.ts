import type { ImportedDocument } from '@gatehouse/contract/memory';
import { AppError } from '@gatehouse/kit/errors';
import type { NewDocument } from '../documents/document.ts';

/** A record of an import, with the number of its line. */
export interface NumberedRecord {
  line: number;
  record: ImportedDocument & { userId: string };
}

/** A document to import, with the number of its line. */
export interface NumberedDocument extends NewDocument {
  line: number;
}

/** Records to store together. */
export interface RecordBatch {
  records: NumberedRecord[];
  /** Characters of their texts. */
  characters: number;
}

const maxRecords = 100;
const maxCharacters = 256 * 1024;

/** Whether a batch may be stored in one transaction, which then takes about a third of a second. */
export function isSmall({ records, characters }: RecordBatch): boolean {
  return records.length <= 50 && characters <= 128 * 1024;
}

/** Records in their order, in batches quick to store. A large document is a batch of its own. */
export async function* batchesOf(records: AsyncIterable<NumberedRecord>): AsyncGenerator<RecordBatch, void> {
  let batch: RecordBatch = { records: [], characters: 0 };
  for await (const next of records) {
    const { length } = next.record.text;
    const isFull = batch.records.length === maxRecords || batch.characters + length > maxCharacters;
    if (isFull && batch.records.length > 0) {
      yield batch;
      batch = { records: [], characters: 0 };
    }
    batch.records.push(next);
    batch.characters += length;
  }
  if (batch.records.length > 0) yield batch;
}

/** The error for a document occurring twice in an import. */
export function repeatedDocument(line: number): AppError {
  return new AppError(
    'invalid_value',
    `Line ${line}: an earlier line has a document with the same path, scope and user.`,
    { param: 'path' },
  );
}

/** Throws for a document occurring twice among these. */
export function assertDistinct(documents: readonly NumberedDocument[]): void {
  const known = new Set<string>();
  for (const { line, userId, path } of documents) {
    const key = JSON.stringify([userId, path]);
    if (known.has(key)) throw repeatedDocument(line);
    known.add(key);
  }
}
