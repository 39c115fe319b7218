import { readFile, stat } from 'node:fs/promises';
import { parserProblem } from '@gatehouse/kit/parser-problem';
import { Catalogue, CatalogueError } from './catalogue.ts';
import { interpolate } from './interpolate.ts';
import { LinedYaml } from './lined-yaml.ts';
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
    const catalogue = this.#parsed(text);
    const named = catalogue.providers
      .flatMap(secretsOf)
      // A blank variable counts as unset, as in `parseConfig`.
      .map((name) => [name, this.#environment[name]?.trim() === '' ? undefined : this.#environment[name]]);
    return { catalogue, secrets: Object.fromEntries(named) as CatalogueSecrets };
  }

  /** Throws one error with every problem, each with the file's name and the line. */
  #parsed(text: string): Catalogue {
    const { filled, problems: variables } = interpolate(text, this.#environment);
    const yaml = new LinedYaml(filled);
    const invalid = (problem: string): string => `${this.path} is not valid YAML: ${problem}`;
    const placeAt = (line: number): string => `${this.path}:${line}: `;
    const placedVariables = variables.map(({ at, text: problem }) => ({
      place: placeAt(text.slice(0, at).split('\n').length),
      problem,
    }));
    const problems = placedVariables.map(({ place, problem }) => place + problem);
    if (yaml.problems.length > 0) throw new CatalogueError([...problems, ...yaml.problems.map(invalid)]);
    let catalogue: Catalogue | null = null;
    try {
      catalogue = Catalogue.parse(yaml.value, (path) => placeAt(yaml.lineOf(path)));
    } catch (error) {
      const further = error instanceof CatalogueError ? error.problems : [invalid(parserProblem(error))];
      // A variable without a value is one mistake, not two.
      problems.push(
        ...further.filter((problem) => !placedVariables.some(({ place }) => problem.startsWith(place))),
      );
    }
    if (catalogue === null || problems.length > 0) throw new CatalogueError(problems);
    return catalogue;
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
