import { isFields, type Fields } from '@gatehouse/kit/fields';
import { objectId } from '../shared/object-id.ts';
import { memberRanges, parsedPart, type Range } from '@gatehouse/dialects/wire/json-parts';
import type { ReadResults } from './batch-api.ts';
import { messageBatchPrefix } from './batch-ids.ts';
import { outcomes, type Outcome } from './batch-outcomes.ts';
import { idIn } from './openai-batch.ts';
import { lineReader } from './result-line.ts';

/** Batches of messages as Anthropic's API describes them. */

export function isBatch(object: Fields): boolean {
  const { processing_status: status, request_counts: counts } = object;
  return idIn(object) !== null && typeof status === 'string' && isFields(counts);
}

export function isEnded({ processing_status: status }: Fields): boolean {
  return status === 'ended';
}

export function isCancelling({ processing_status: status }: Fields): boolean {
  return status === 'canceling';
}

/** The number of requests, whatever became of them. */
export function requestsOf({ request_counts: counts }: Fields): number {
  const numbers = isFields(counts) ? Object.values(counts) : [];
  return numbers.reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0);
}

/** The outcome of a batch that the provider has ended. */
export function outcomeOf({ cancel_initiated_at: cancelledAt, request_counts: counts }: Fields): Outcome {
  const { canceled = 0, expired = 0 } = isFields(counts) ? counts : {};
  if (typeof cancelledAt === 'string' && canceled !== 0) return outcomes.cancelled;
  return expired === 0 ? outcomes.ok : outcomes.expired;
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

/** The path of all batches, which is the same here and at the provider, as the others are. */
export const batchesPath = '/v1/messages/batches';

export function batchPath(id: string): string {
  return `${batchesPath}/${encodeURIComponent(id)}`;
}

export function resultsPath(id: string): string {
  return `${batchPath(id)}/results`;
}

/** Whether the results have as many messages as the batch counts. */
export function isWhole(object: Fields, { answers }: ReadResults, requests: number): boolean {
  const { succeeded } = Object(object['request_counts']) as Fields;
  return typeof succeeded === 'number' && answers >= Math.min(succeeded, requests);
}

export const resultIn = lineReader('result', messageIn);

async function messageIn(line: Buffer, result: Range, tenantId: string): Promise<Buffer | null> {
  const members = await memberRanges(line, result, tenantId);
  const [type, message] = [members?.get('type'), members?.get('message')];
  if (type === undefined || message === undefined) return null;
  if ((await parsedPart(line, type, tenantId)) !== 'succeeded') return null;
  return line.subarray(message.from, message.until);
}
