import { hash } from 'node:crypto';
import { BackgroundLoop } from '@gatehouse/kit/background-loop';
import type { Logger } from '@gatehouse/kit/log';
import { Counter, type Registry } from '@gatehouse/kit/metrics';
import { CatalogueError } from './catalogue.ts';
import type { CatalogueFile, ReadCatalogue } from './catalogue-file.ts';

/** A change counts when two readings in a row agree, so that a file is not read while it is written. */
const everyMs = 2_000;

/** A log line with all mistakes of 10,000 models would have megabytes. */
const maxLogged = 1_000;

/** A catalogue that can't be used. */
export interface InvalidCatalogue {
  problems: readonly string[];
  /** Names its content, also in other replicas. */
  digest: string;
}

export interface CatalogueWatchOptions {
  file: Pick<CatalogueFile, 'path' | 'loaded' | 'text' | 'parse'>;
  /** Takes over another catalogue. Throws if that can't be done, and then nothing has changed. */
  onRead: (read: ReadCatalogue) => Promise<void>;
  onInvalid: (invalid: InvalidCatalogue) => void;
  log: Logger;
  registry: Registry;
  everyMs?: number | undefined;
}

/**
 * Reads the catalogue again when its file has changed. Polling sees every kind of change: rewritten files, renamed ones,
 * and links that lead elsewhere, as those of a ConfigMap do. While the file is wrong, the catalogue before stays in use.
 */
export class CatalogueWatch {
  readonly #options: CatalogueWatchOptions;
  readonly #everyMs: number;
  readonly #failures: Counter;
  readonly #loop = new BackgroundLoop(() => this.#round());
  /** The reading that was used or reported last. */
  #used: Reading | undefined;
  #last: Reading | undefined;

  constructor(options: CatalogueWatchOptions) {
    this.#options = options;
    this.#everyMs = options.everyMs ?? everyMs;
    const { loaded } = options.file;
    if (loaded !== null) this.#used = { text: loaded };
    this.#failures = new Counter({
      name: 'gatehouse_catalogue_reload_failures_total',
      help: 'Changes of the model catalogue that could not be used',
      registers: [options.registry],
    });
  }

  start(): void {
    this.#loop.start(this.#everyMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #round(): Promise<number> {
    const reading = await this.#reading();
    const agrees = isSame(reading, this.#last);
    this.#last = reading;
    if (agrees && !isSame(reading, this.#used)) {
      await this.#use(reading);
      if (!this.#loop.signal.aborted) this.#used = reading;
    }
    return this.#everyMs;
  }

  async #reading(): Promise<Reading> {
    try {
      return { text: await this.#options.file.text() };
    } catch (error) {
      return { problem: problemsOf(error, this.#options.file.path)[0] ?? '' };
    }
  }

  async #use(reading: Reading): Promise<void> {
    const { file, onRead, onInvalid, log } = this.#options;
    const { signal } = this.#loop;
    try {
      if ('problem' in reading) throw new CatalogueError([reading.problem]);
      const read = await file.parse(reading.text, signal);
      await onRead(read);
      const { models, providers } = read.catalogue;
      log.info({ models: models.size, providers: providers.length }, 'read the model catalogue again');
    } catch (error) {
      if (signal.aborted) return;
      const problems = problemsOf(error, file.path);
      this.#failures.inc();
      const shown = { problems: problems.slice(0, maxLogged), count: problems.length };
      log.error(shown, 'failed to read the model catalogue again, the one before stays in use');
      onInvalid({ problems, digest: hash('sha256', JSON.stringify(reading), 'base64url') });
    }
  }
}

/** The text of the file, or why there is none. */
type Reading = { text: string } | { problem: string };

function isSame(one: Reading, other: Reading | undefined): boolean {
  if (other === undefined) return false;
  return 'text' in one
    ? 'text' in other && one.text === other.text
    : 'problem' in other && one.problem === other.problem;
}

function problemsOf(error: unknown, file: string): readonly string[] {
  if (error instanceof CatalogueError) return error.problems;
  const { code, message } = error as NodeJS.ErrnoException;
  return [`${file} can't be read: ${code ?? message}`];
}
