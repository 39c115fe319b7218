import type { BatchApi } from './batch-api.ts';
import { idIn, isBatch, isCancelling, isEnded, isWhole, outcomeOf, resultIn } from './openai-batch.ts';
import { findListed } from './provider-list.ts';

/** A page is read whole, whatever metadata clients give their batches: up to 50 kB each. */
const listed = '/batches?limit=20';

const filePath = (id: string): string => `/files/${encodeURIComponent(id)}`;

/** Files and batches of OpenAI's API. */
export const openaiBatches: BatchApi = {
  trialPath: '/files?limit=1',
  pathOf: (id) => `/batches/${encodeURIComponent(id)}`,
  ...{ isBatch, isEnded, isCancelling, outcomeOf, resultIn, isWhole, filePath },
  resultsPath(object) {
    const id = idIn(object, 'output_file_id');
    return id === null ? null : `${filePath(id)}/content`;
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
