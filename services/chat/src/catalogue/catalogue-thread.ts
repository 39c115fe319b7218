import { parentPort, workerData } from 'node:worker_threads';
import { CatalogueError } from './catalogue.ts';
import { documentIn, type CatalogueText } from './catalogue-text.ts';
import { pricesIn } from './operator-prices.ts';

/** Reads the files of the catalogue beside the event loop. A megabyte of YAML takes a second. */

export type Task = { catalogue: CatalogueText } | { prices: { file: string; text: string } };

/** From the thread: the document, or every problem of it. */
export type FromThread = { document: unknown } | { problems: readonly string[] };

function read(task: Task): FromThread {
  try {
    return { document: 'catalogue' in task ? documentIn(task.catalogue) : pricesIn(task.prices) };
  } catch (error) {
    if (error instanceof CatalogueError) return { problems: error.problems };
    throw error;
  }
}

parentPort?.postMessage(read(workerData as Task));
