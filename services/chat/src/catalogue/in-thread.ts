import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { CatalogueError, type CatalogueDocument } from './catalogue.ts';
import type { CatalogueText } from './catalogue-text.ts';
import type { FromThread, Task } from './catalogue-thread.ts';
import type { PriceDocument } from './operator-prices.ts';

const longestMs = 60_000;
const maxHeapMiB = 512;
const thread = path.join(import.meta.dirname, `catalogue-thread${path.extname(import.meta.filename)}`);

/** Reads a catalogue as `documentIn` does. */
export function documentInThread(given: CatalogueText, signal: AbortSignal): Promise<CatalogueDocument> {
  return read({ catalogue: given }, given.file, signal) as Promise<CatalogueDocument>;
}

/** Reads a list of prices as `pricesIn` does. */
export function pricesInThread(
  given: { file: string; text: string },
  signal: AbortSignal,
): Promise<PriceDocument> {
  return read({ prices: given }, given.file, signal) as Promise<PriceDocument>;
}

/** Rejects with the reason of `signal`, and for a text that takes too long or too much memory. */
async function read(task: Task, file: string, signal: AbortSignal): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const worker = new Worker(thread, {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
  });
  const late = (): void => reject(new CatalogueError([`${file} took more than ${longestMs} ms to read`]));
  const stopped = (): void => reject(signal.reason as Error);
  const timer = setTimeout(late, longestMs);
  signal.addEventListener('abort', stopped, { once: true });
  worker.once('message', (answer: FromThread) => {
    if ('document' in answer) resolve(answer.document);
    else reject(new CatalogueError(answer.problems));
  });
  worker.once('error', reject);
  worker.once('exit', () => reject(new Error('the thread that reads the catalogue ended')));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stopped);
    await worker.terminate();
  }
}
