import type { Fields } from '@gatehouse/kit/fields';
import { objectId } from '../shared/object-id.ts';
import {
  batchesPath,
  batchPath,
  isBatch,
  isCancelling,
  isEnded,
  isWhole,
  outcomeOf,
  requestsOf,
  resultIn,
  resultsPath,
} from './anthropic-batch.ts';
import type { BatchApi } from './batch-api.ts';
import { messageBatchPrefix } from './batch-ids.ts';
import { idIn } from './openai-batch.ts';
import { createdMs, findListed } from './provider-list.ts';

/** A provider has a batch within this time, or never: the time limit of the request, and what clocks differ by. */
const createdWithinMs = 3 * 60_000;

const resultsOf = (object: Fields): string | null => {
  const id = idIn(object);
  return id === null ? null : resultsPath(id);
};

/** Batches of messages of Anthropic's API. */
export const anthropicBatches: BatchApi = {
  trialPath: `${batchesPath}?limit=1`,
  pathOf: batchPath,
  ...{ isBatch, isEnded, isCancelling, outcomeOf, resultIn, isWhole },
  resultsPath: resultsOf,
  resultPurpose: 'message_batch',
  resultIds: (object) => ({ output: idIn(object), errors: null }),
  // The results are deleted with their batch.
  filePath: batchPath,
  describesFiles: false,
  /**
   * A batch has no name there, but its first request has, which its results repeat: so one that has as many requests is
   * known once it has ended.
   */
  async find({ id, createdAt: since, requests }, { resources, signal, knownIds, haveText }) {
    const until = since.getTime() + createdWithinMs;
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
