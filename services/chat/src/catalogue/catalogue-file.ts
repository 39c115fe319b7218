import { readFile, stat } from 'node:fs/promises';
import { parserProblem } from '@gatehouse/kit/parser-problem';
import { parse } from 'yaml';
import { Catalogue, CatalogueError, interpolate } from './catalogue.ts';
import { secretsOf } from './provider-schema.ts';
import { catalogueBytes } from '../bounds.ts';

/** Values of a catalogue's environment variables with secrets; undefined where one is unset. */
export type CatalogueSecrets = Readonly<Record<string, string | undefined>>;

/** A catalogue with its secrets. */
export interface ReadCatalogue {
  catalogue: Catalogue;
  secrets: CatalogueSecrets;
}

/** The file of `GATEHOUSE_MODELS`. */
export class CatalogueFile {
  readonly path: string;
  /** The text read by `load`; null before. */
  loaded: string | null = null;
  /** Unset variables of the catalogue read by `load`. */
  unset: readonly string[] = [];
  readonly #environment: Readonly<Record<string, string | undefined>>;

  constructor(file: string, environment: Readonly<Record<string, string | undefined>>) {
    this.path = file;
    this.#environment = environment;
  }

  /** Reads the whole file, before the process serves. Throws one error with the file's name and every problem. */
  async load(): Promise<ReadCatalogue> {
    this.loaded = await this.text();
    const read = this.#read(this.loaded);
    this.unset = unsetIn(read);
    return read;
  }

  /** The text of the file. Throws a `CatalogueError` with the file's name. */
  text(): Promise<string> {
    return boundedText(this.path);
  }

  /**
   * Reads a text of the file while the process serves. Throws as `load` does, and also for an unset variable outside of
   * the loaded catalogue: its provider would refuse every call.
   */
  parse(text: string): ReadCatalogue {
    const read = this.#read(text);
    const missing = unsetIn(read).filter((name) => !this.unset.includes(name));
    if (missing.length > 0)
      throw new CatalogueError(
        missing.map((name) => `the environment variable ${name} is not set: set it and restart chat`),
      );
    return read;
  }

  #read(text: string): ReadCatalogue {
    const catalogue = Catalogue.parse(parsedYaml(this.path, interpolate(text, this.#environment)));
    const named = catalogue.providers
      .flatMap(secretsOf)
      // A blank variable counts as unset, as in `parseConfig`.
      .map((name) => [name, this.#environment[name]?.trim() === '' ? undefined : this.#environment[name]]);
    return { catalogue, secrets: Object.fromEntries(named) as CatalogueSecrets };
  }
}

function parsedYaml(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new CatalogueError([`${file} is not valid YAML: ${parserProblem(error)}`]);
  }
}

function unsetIn({ secrets }: ReadCatalogue): string[] {
  return Object.keys(secrets).filter((name) => secrets[name] === undefined);
}

/** The text of a file of the catalogue. Throws a `CatalogueError` with the file's name. */
export async function boundedText(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size <= catalogueBytes) return await readFile(file, 'utf8');
    throw new CatalogueError([`${file} has ${size} bytes, and may have ${catalogueBytes} at most`]);
  } catch (error) {
    if (error instanceof CatalogueError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CatalogueError([`${file} can't be read: ${code ?? message}`]);
  }
}
