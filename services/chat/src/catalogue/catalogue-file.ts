import { inLoopTurn } from '@gatehouse/kit/loop-turns';
import { atOnce, inSteps, type Steps } from '@gatehouse/kit/steps';
import { boundedText } from './bounded-text.ts';
import { Catalogue, CatalogueError, type CatalogueDocument } from './catalogue.ts';
import { documentIn, type CatalogueText } from './catalogue-text.ts';
import { documentInThread } from './in-thread.ts';
import { secretsOf } from './provider-schema.ts';

/** Larger than 10,000 models with prices. */
const maxBytes = 16 * 1024 * 1024;

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
  /** Variables that the catalogue which `load` has read names, and that are not set. */
  unset: readonly string[] = [];
  readonly #environment: Readonly<Record<string, string | undefined>>;

  constructor(file: string, environment: Readonly<Record<string, string | undefined>>) {
    this.path = file;
    this.#environment = environment;
  }

  /** Reads the whole file, before the process serves. Throws one error that names the file and every problem. */
  async load(): Promise<ReadCatalogue> {
    this.loaded = await this.text();
    const read = atOnce(this.#read(documentIn(this.#given(this.loaded))));
    this.unset = unsetIn(read);
    return read;
  }

  /** The text of the file. Throws a `CatalogueError` that names the file. */
  text(): Promise<string> {
    return boundedText(this.path, maxBytes);
  }

  /**
   * Reads a text of the file while the process serves: in a thread, and in turns of the event loop. Throws as `load` does,
   * and also where a variable is not set that was no part of the loaded catalogue: its provider would refuse every call.
   */
  async parse(text: string, signal: AbortSignal): Promise<ReadCatalogue> {
    const document = await documentInThread(this.#given(text), signal);
    const read = await inSteps(this.#read(document), (piece) => inLoopTurn(null, piece, signal));
    const missing = unsetIn(read).filter((name) => !this.unset.includes(name));
    if (missing.length > 0)
      throw new CatalogueError(
        missing.map((name) => `the environment variable ${name} is not set: set it and restart chat`),
      );
    return read;
  }

  #given(text: string): CatalogueText {
    return { file: this.path, text, environment: this.#environment };
  }

  *#read(document: CatalogueDocument): Steps<ReadCatalogue> {
    const catalogue = yield* Catalogue.of(document);
    const named = catalogue.providers.flatMap(secretsOf).map((name) => [name, this.#environment[name]]);
    return { catalogue, secrets: Object.fromEntries(named) as CatalogueSecrets };
  }
}

function unsetIn({ secrets }: ReadCatalogue): string[] {
  return Object.keys(secrets).filter((name) => (secrets[name] ?? '') === '');
}
