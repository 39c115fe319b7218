import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { CatalogueError, type CatalogueDocument } from './catalogue.ts';
import type { CatalogueText } from './catalogue-text.ts';
import type { Divided, FromThread, Task } from './catalogue-thread.ts';
import type { PriceDocument } from './operator-prices.ts';

const longestMs = 60_000;
const maxHeapMiB = 512;
const thread = path.join(import.meta.dirname, `catalogue-thread${path.extname(import.meta.filename)}`);

/** Reads a catalogue as `documentIn` does. */
export async function documentInThread(
  given: CatalogueText,
  signal: AbortSignal,
): Promise<CatalogueDocument> {
  const { head, items } = await read({ catalogue: given }, given.file, signal);
  const { providers, ...others } = head as Omit<CatalogueDocument, 'providers' | 'models'> & {
    providers: number;
  };
  const [ofProviders, models] = [items.slice(0, providers), items.slice(providers)];
  return { ...others, providers: ofProviders, models } as CatalogueDocument;
}

/** Reads a list of prices as `pricesIn` does. */
export async function pricesInThread(
  given: { file: string; text: string },
  signal: AbortSignal,
): Promise<PriceDocument> {
  const { head, items } = await read({ prices: given }, given.file, signal);
  return { ...(head as Omit<PriceDocument, 'prices'>), prices: items } as PriceDocument;
}

/**
 * Takes over one piece of a document after the other: each is copied in one go. Rejects with the reason of `signal`, and
 * for a text that takes too long or too much memory.
 */
async function read(task: Task, file: string, signal: AbortSignal): Promise<Divided> {
  const { promise, resolve, reject } = Promise.withResolvers<Divided>();
  const worker = new Worker(thread, {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
  });
  const late = (): void => reject(new Error(`${file} took more than ${longestMs} ms to read`));
  const stopped = (): void => reject(signal.reason as Error);
  const timer = setTimeout(late, longestMs);
  signal.addEventListener('abort', stopped, { once: true });
  let head: unknown;
  const items: unknown[] = [];
  const takeNext = (): void => worker.postMessage(null);
  worker.on('message', (answer: FromThread) => {
    if ('problems' in answer) reject(new CatalogueError(answer.problems));
    else if ('isWhole' in answer) resolve({ head, items });
    else {
      if ('head' in answer) head = answer.head;
      else items.push(...answer.items);
      takeNext();
    }
  });
  takeNext();
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
