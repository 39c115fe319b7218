import type { Fields } from '@gatehouse/kit/fields';
import { objectId } from '../shared/object-id.ts';
import { memberRanges, parsedPart, type Range } from '@gatehouse/dialects/wire/json-parts';
import { batchPrefix, filePrefix, findListed, hasId, idIn, lineReader, outcomes } from './batch-api.ts';
import type { BatchApi, Outcome } from './batch-api.ts';

/** Batches and files as OpenAI's API describes them. */

/** Final statuses of a batch. */
const endedStatuses: ReadonlySet<unknown> = new Set(['completed', 'failed', 'expired', 'cancelled']);

const outcomesByStatus = new Map<unknown, Outcome>([
  ['completed', outcomes.ok],
  ['cancelled', outcomes.cancelled],
  ['expired', outcomes.expired],
]);

/** A page is read whole, whatever metadata clients give their batches: up to 50 kB each. */
const listed = '/batches?limit=20';

const filePath = (id: string): string => `/files/${encodeURIComponent(id)}`;
const isBatch = (object: Fields): boolean => hasId(object) && typeof object['status'] === 'string';
const isEnded = ({ status }: Fields): boolean => endedStatuses.has(status);

/** Files and batches of OpenAI's API. */
export const openaiBatches: BatchApi = {
  trialPath: '/files?limit=1',
  pathOf: (id) => `/batches/${encodeURIComponent(id)}`,
  ...{ isBatch, isEnded, filePath },
  isCancelling: ({ status }) => status === 'cancelling',
  outcomeOf: ({ status }) => outcomesByStatus.get(status) ?? outcomes.failed,
  resultsPath(object) {
    const id = idIn(object, 'output_file_id');
    return id === null ? null : `${filePath(id)}/content`;
  },
  resultIn: lineReader('response', answerIn),
  // A completed one without counts has some results, or errors.
  isWhole(object, { lines }, requests) {
    const { completed } = Object(object['request_counts']) as Fields;
    if (typeof completed === 'number') return lines >= Math.min(completed, requests);
    return lines > 0 || object['status'] !== 'completed' || idIn(object, 'error_file_id') !== null;
  },
  resultPurpose: 'batch_output',
  resultIds: (object) => ({ output: idIn(object, 'output_file_id'), errors: idIn(object, 'error_file_id') }),
  describesFiles: true,
  find({ providerFileId, createdAt: since }, { resources, signal, knownIds }) {
    const list = { path: listed, cursor: 'after', since, isObject: isBatch, signal } as const;
    return findListed(resources, list, async (objects) => {
      const sameFile = objects.filter((object) => idIn(object, 'input_file_id') === providerFileId);
      const known = await knownIds(sameFile.map((object) => idIn(object)).filter((id) => id !== null));
      return sameFile.find((object) => !known.has(idIn(object) ?? ''));
    });
  },
};

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

/** A provider's name for a file, by which it is found there if its answer is lost. */
export function nameAtProvider(id: string): string {
  return `${objectId(filePrefix, id)}.jsonl`;
}

/** A file in its client's terms. */
export function shownFile(object: Fields, { id, filename }: { id: string; filename?: string }): Fields {
  return { ...object, id: objectId(filePrefix, id), ...(filename !== undefined && { filename }) };
}

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
