import { parentPort, workerData } from 'node:worker_threads';
import { CatalogueError, type CatalogueDocument } from './catalogue.ts';
import { documentIn, type CatalogueText } from './catalogue-text.ts';

/** The thread of `CatalogueFile`. A megabyte of YAML takes a second. */

/** From the thread: the document, or every problem of it. */
export type FromThread = { document: CatalogueDocument } | { problems: readonly string[] };

function read(text: CatalogueText): FromThread {
  try {
    return { document: documentIn(text) };
  } catch (error) {
    if (error instanceof CatalogueError) return { problems: error.problems };
    throw error;
  }
}

parentPort?.postMessage(read(workerData as CatalogueText));
