import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { Catalogue, CatalogueError, type CatalogueDocument } from './catalogue.ts';
import { documentIn, type CatalogueText } from './catalogue-text.ts';
import type { FromThread } from './catalogue-thread.ts';
import { secretsOf } from './provider-schema.ts';

/** Larger than 10,000 models with prices. */
const maxBytes = 16 * 1024 * 1024;
const threadMs = 60_000;
const maxHeapMiB = 512;
const thread = path.join(import.meta.dirname, `catalogue-thread${path.extname(import.meta.filename)}`);

/** Values of the environment variables with secrets that a catalogue names; undefined where one is unset. */
export type CatalogueSecrets = Readonly<Record<string, string | undefined>>;

/** A catalogue with the secrets that it names. */
export interface ReadCatalogue {
  catalogue: Catalogue;
  secrets: CatalogueSecrets;
}

/** The file of `GATEHOUSE_MODELS`. */
export class CatalogueFile {
  readonly path: string;
  /** The text that `load` has read; null before. */
  loaded: string | null = null;
  readonly #environment: Readonly<Record<string, string | undefined>>;

  constructor(file: string, environment: Readonly<Record<string, string | undefined>>) {
    this.path = file;
    this.#environment = environment;
  }

  /** Reads the whole file, before the process serves. Throws one error that names the file and every problem. */
  async load(): Promise<ReadCatalogue> {
    this.loaded = await this.text();
    return this.#read(documentIn(this.#given(this.loaded)));
  }

  /** The text of the file. Throws a `CatalogueError` for one that is too large, else the error of the file system. */
  async text(): Promise<string> {
    const { size } = await stat(this.path);
    if (size > maxBytes)
      throw new CatalogueError([`${this.path} has ${size} bytes, and may have ${maxBytes} at most`]);
    return readFile(this.path, 'utf8');
  }

  /** Reads a text of the file in a thread, while the process serves. Throws as `load` does. */
  async parse(text: string, signal: AbortSignal): Promise<ReadCatalogue> {
    return this.#read(await documentFrom(this.#given(text), signal));
  }

  #given(text: string): CatalogueText {
    return { file: this.path, text, environment: this.#environment };
  }

  #read(document: CatalogueDocument): ReadCatalogue {
    const catalogue = Catalogue.of(document);
    const named = catalogue.providers.flatMap(secretsOf).map((name) => [name, this.#environment[name]]);
    return { catalogue, secrets: Object.fromEntries(named) as CatalogueSecrets };
  }
}

/** The document in a text. Rejects with the reason of `signal`, or for a text that takes too long or too much memory. */
function documentFrom(given: CatalogueText, signal: AbortSignal): Promise<CatalogueDocument> {
  const { promise, resolve, reject } = Promise.withResolvers<CatalogueDocument>();
  const worker = new Worker(thread, {
    workerData: given,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
  });
  const late = (): void =>
    reject(new CatalogueError([`${given.file} took more than ${threadMs} ms to read`]));
  const stopped = (): void => reject(signal.reason as Error);
  const timer = setTimeout(late, threadMs);
  signal.addEventListener('abort', stopped, { once: true });
  worker.once('message', (answer: FromThread) => {
    if ('document' in answer) resolve(answer.document);
    else reject(new CatalogueError(answer.problems));
  });
  worker.once('error', reject);
  worker.once('exit', () => reject(new Error('the thread that reads the catalogue ended')));
  return promise.finally(async () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', stopped);
    await worker.terminate();
  });
}
