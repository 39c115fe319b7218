import { isFields, type Fields } from '@gatehouse/kit/fields';
import { objectId } from '../shared/object-id.ts';
import { memberRanges, parsedPart, type Range } from '@gatehouse/dialects/wire/json-parts';
import { createdMs, findListed, hasId, idIn, lineReader, messageBatchPrefix, outcomes } from './batch-api.ts';
import type { BatchApi } from './batch-api.ts';
import { batchCreatedWithinMs } from '../bounds.ts';

/** Batches of messages as Anthropic's API describes them. */

/** The path of all batches, which is the same here and at the provider, as the others are. */
export const batchesPath = '/v1/messages/batches';

const batchPath = (id: string): string => `${batchesPath}/${encodeURIComponent(id)}`;

export function resultsPath(id: string): string {
  return `${batchPath(id)}/results`;
}

const isBatch = (object: Fields): boolean =>
  hasId(object) && typeof object['processing_status'] === 'string' && isFields(object['request_counts']);
const isEnded = ({ processing_status: status }: Fields): boolean => status === 'ended';

function resultsOf(object: Fields): string | null {
  const id = idIn(object);
  return id === null ? null : resultsPath(id);
}

/** Batches of messages of Anthropic's API. */
export const anthropicBatches: BatchApi = {
  trialPath: `${batchesPath}?limit=1`,
  pathOf: batchPath,
  ...{ isBatch, isEnded },
  isCancelling: ({ processing_status: status }) => status === 'canceling',
  outcomeOf({ cancel_initiated_at: cancelledAt, request_counts: counts }) {
    const { canceled = 0, expired = 0 } = isFields(counts) ? counts : {};
    if (typeof cancelledAt === 'string' && canceled !== 0) return outcomes.cancelled;
    return expired === 0 ? outcomes.ok : outcomes.expired;
  },
  resultsPath: resultsOf,
  resultIn: lineReader('result', messageIn),
  isWhole(object, { answers }, requests) {
    const { succeeded } = Object(object['request_counts']) as Fields;
    return typeof succeeded === 'number' && answers >= Math.min(succeeded, requests);
  },
  resultPurpose: 'message_batch',
  resultIds: (object) => ({ output: idIn(object), errors: null }),
  // The results are deleted with their batch.
  filePath: batchPath,
  describesFiles: false,
  /**
   * A batch has no name there, but its first request has one, repeated by its results: so a batch with as many requests
   * is known once it has ended.
   */
  async find({ id, createdAt: since, requests }, { resources, signal, knownIds, haveText }) {
    const until = since.getTime() + batchCreatedWithinMs;
    const open: Fields[] = [];
    const path = `${batchesPath}?limit=100`;
    const list = { path, cursor: 'after_id', since, isObject: isBatch, signal } as const;
    const listed = await findListed(resources, list, async (objects) => {
      const alike = objects.filter(
        (object) => requestsOf(object) === requests && (createdMs(object) ?? 0) <= until,
      );
      const known = await knownIds(alike.map((object) => idIn(object)).filter((each) => each !== null));
      for (const object of alike) {
        if (known.has(idIn(object) ?? '')) continue;
        const results = resultsOf(object);
        if (!isEnded(object)) open.push(object);
        else if (results !== null && (await haveText(results, nameOfFirst(id)))) return object;
      }
      return undefined;
    });
    if (listed === null && open.length > 0)
      throw new Error('a batch that may be this one is still under way');
    return listed;
  },
};

/** The name of a batch's first request at the provider, by which the batch is found there if its answer is lost. */
export function nameOfFirst(id: string): string {
  return objectId(messageBatchPrefix, id);
}

/** The number of requests, whatever became of them. */
function requestsOf({ request_counts: counts }: Fields): number {
  const numbers = isFields(counts) ? Object.values(counts) : [];
  return numbers.reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0);
}

/**
 * A batch in its client's terms: `ended` says whether its cost is recorded, before which its results can't be read.
 * `hasResults`: whether there are some then.
 */
export function shownMessageBatch(
  object: Fields,
  names: { id: string; ended: boolean; hasResults: boolean },
): Fields {
  const id = objectId(messageBatchPrefix, names.id);
  const isOver = isEnded(object);
  const isShownEarlier = isOver && !names.ended;
  return {
    ...object,
    id,
    results_url: names.ended && names.hasResults ? resultsPath(id) : null,
    ...(isShownEarlier && {
      processing_status: typeof object['cancel_initiated_at'] === 'string' ? 'canceling' : 'in_progress',
      ended_at: null,
      request_counts: {
        ...{ processing: requestsOf(object), succeeded: 0, errored: 0, canceled: 0, expired: 0 },
      },
    }),
    ...(names.ended && !isOver && { processing_status: 'ended' }),
  };
}

async function messageIn(line: Buffer, result: Range, tenantId: string): Promise<Buffer | null> {
  const members = await memberRanges(line, result, tenantId);
  const [type, message] = [members?.get('type'), members?.get('message')];
  if (type === undefined || message === undefined) return null;
  if ((await parsedPart(line, type, tenantId)) !== 'succeeded') return null;
  return line.subarray(message.from, message.until);
}
