import { FolderWatch } from './folder-watch.ts';

export interface SourceChange {
  /** Absolute paths of the files saved, added or removed. */
  files: string[];
  /** Services loading one of them. */
  services: string[];
}

export interface SourceWatchOptions {
  /** Absolute paths. Folders in them are watched too. */
  folders: readonly string[];
  servicesOf: (files: readonly string[]) => string[];
  /** Called with one change at a time, if any service loads it. Files saved meanwhile are the next change. */
  onChange: (change: SourceChange) => Promise<void>;
}

/** An editor saves several files at once, and `git checkout` replaces hundreds: one restart for all of them. */
const quietMs = 150;
const loaded = /(?<!\.test)\.(ts|sql|json)$/;

/** Watches the sources of the services, without their tests. */
export class SourceWatch {
  readonly #options: SourceWatchOptions;
  readonly #watch = new FolderWatch((file) => this.#note(file));
  readonly #changed = new Set<string>();
  #quiet: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #closed = false;

  private constructor(options: SourceWatchOptions) {
    this.#options = options;
  }

  /** Resolves when every later change will be seen. */
  static async start(options: SourceWatchOptions): Promise<SourceWatch> {
    const sources = new SourceWatch(options);
    await Promise.all(options.folders.map((folder) => sources.#watch.add(folder)));
    return sources;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#quiet);
    this.#watch.close();
    await this.#working;
  }

  #note(file: string): void {
    if (!loaded.test(file)) return;
    this.#changed.add(file);
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.#publish(), quietMs);
  }

  #publish(): void {
    if (this.#closed || this.#working !== undefined || this.#changed.size === 0) return;
    const files = [...this.#changed].sort();
    this.#changed.clear();
    const services = this.#options.servicesOf(files);
    if (services.length === 0) return;
    this.#working = this.#options.onChange({ files, services }).finally(() => {
      this.#working = undefined;
      this.#publish();
    });
  }
}
