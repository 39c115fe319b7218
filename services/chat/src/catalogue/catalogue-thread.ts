import { parentPort, workerData } from 'node:worker_threads';
import { CatalogueError } from './catalogue.ts';
import { documentIn, type CatalogueText } from './catalogue-text.ts';
import { pricesIn } from './operator-prices.ts';

/** Reads the files of the catalogue beside the event loop. A megabyte of YAML takes a second. */

export type Task = { catalogue: CatalogueText } | { prices: { file: string; text: string } };

/** A document in one field and its many items, which the process takes over in pieces. */
export interface Divided {
  head: unknown;
  items: readonly unknown[];
}

/** From the thread, one each time the process asks: the head, the items in their order, and the end; or every problem. */
export type FromThread =
  { head: unknown } | { items: readonly unknown[] } | { isWhole: true } | { problems: readonly string[] };

/** Takes the event loop a few milliseconds, also where each is as large as may be. */
const itemsOfPiece = 50;

function read(task: Task): Divided {
  if ('prices' in task) {
    const { prices: items, ...head } = pricesIn(task.prices);
    return { head, items };
  }
  const { providers, models, ...others } = documentIn(task.catalogue);
  return { head: { ...others, providers: providers.length }, items: [...providers, ...models] };
}

function* answers(task: Task): Generator<FromThread, void> {
  try {
    const { head, items } = read(task);
    yield { head };
    for (let at = 0; at < items.length; at += itemsOfPiece)
      yield { items: items.slice(at, at + itemsOfPiece) };
    yield { isWhole: true };
  } catch (error) {
    if (!(error instanceof CatalogueError)) throw error;
    yield { problems: error.problems };
  }
}

const pieces = answers(workerData as Task);
parentPort?.on('message', () => parentPort?.postMessage(pieces.next().value));
