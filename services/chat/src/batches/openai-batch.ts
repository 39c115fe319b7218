import type { Fields } from '@gatehouse/kit/fields';
import { objectId } from '../shared/object-id.ts';
import { memberRanges, parsedPart, type Range } from '@gatehouse/dialects/wire/json-parts';
import type { ReadResults } from './batch-api.ts';
import { batchPrefix, filePrefix } from './batch-ids.ts';
import { outcomes, type Outcome } from './batch-outcomes.ts';
import { lineReader } from './result-line.ts';

/** Batches and files as OpenAI's API describes them. */

/** Statuses of a batch that changes no more. */
const endedStatuses: ReadonlySet<unknown> = new Set(['completed', 'failed', 'expired', 'cancelled']);

export function isBatch(object: Fields): boolean {
  return idIn(object) !== null && typeof object['status'] === 'string';
}

export function isEnded({ status }: Fields): boolean {
  return endedStatuses.has(status);
}

export function isCancelling({ status }: Fields): boolean {
  return status === 'cancelling';
}

/** The outcome of a batch that the provider has ended. */
export function outcomeOf({ status }: Fields): Outcome {
  switch (status) {
    case 'completed':
      return outcomes.ok;
    case 'cancelled':
      return outcomes.cancelled;
    case 'expired':
      return outcomes.expired;
    default:
      return outcomes.failed;
  }
}

/** The provider's id of a file or a batch; null without one. */
export function idIn(object: Fields, name = 'id'): string | null {
  const id = object[name];
  return typeof id === 'string' && id !== '' && id.length <= 256 ? id : null;
}

/** The provider's id of an object that has one. */
export function requiredId(object: Fields): string {
  const id = idIn(object);
  if (id === null) throw new Error('the object has no id');
  return id;
}

/** Whether an object has an id, as all have that a provider makes or lists. */
export function hasId(object: Fields): boolean {
  return idIn(object) !== null;
}

/** A batch in its client's terms: `ended` says whether its cost is recorded, before which its results can't be read. */
export function shownBatch(
  object: Fields,
  names: {
    id: string;
    inputFileId: string;
    outputFileId: string | null;
    errorFileId: string | null;
    ended: boolean;
  },
): Fields {
  const fileId = (id: string | null): string | null => (id === null ? null : objectId(filePrefix, id));
  const { status } = object;
  return {
    ...object,
    id: objectId(batchPrefix, names.id),
    input_file_id: objectId(filePrefix, names.inputFileId),
    output_file_id: fileId(names.outputFileId),
    error_file_id: fileId(names.errorFileId),
    ...(!names.ended && isEnded(object) && { status: 'finalizing' }),
    ...(names.ended && !isEnded(object) && { status: 'failed' }),
    ...(status === undefined && { status: 'validating' }),
  };
}

/** The name that a provider gets for a file, by which it is found there if its answer is lost. */
export function nameAtProvider(id: string): string {
  return `${objectId(filePrefix, id)}.jsonl`;
}

/** A file in its client's terms. */
export function shownFile(object: Fields, { id, filename }: { id: string; filename?: string }): Fields {
  return { ...object, id: objectId(filePrefix, id), ...(filename !== undefined && { filename }) };
}

/**
 * Whether the file of results has as many as the batch counts. One that has completed, and counts nothing, has some, or
 * errors.
 */
export function isWhole(object: Fields, { lines }: ReadResults, requests: number): boolean {
  const { completed } = Object(object['request_counts']) as Fields;
  if (typeof completed === 'number') return lines >= Math.min(completed, requests);
  return lines > 0 || object['status'] !== 'completed' || idIn(object, 'error_file_id') !== null;
}

export const resultIn = lineReader('response', answerIn);

async function answerIn(line: Buffer, response: Range, tenantId: string): Promise<Buffer | null> {
  const members = await memberRanges(line, response, tenantId);
  const body = members?.get('body');
  if (body === undefined || !(await isSuccess(line, members?.get('status_code'), tenantId))) return null;
  return line.subarray(body.from, body.until);
}

async function isSuccess(line: Buffer, range: Range | undefined, tenantId: string): Promise<boolean> {
  const status = range === undefined ? 200 : await parsedPart(line, range, tenantId);
  return typeof status === 'number' && status >= 200 && status < 300;
}
