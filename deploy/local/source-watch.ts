import path from 'node:path';
import { FolderWatch } from './folder-watch.ts';

export interface SourceChange {
  /** Absolute paths of the files that were saved, added or removed. */
  files: string[];
  /** The services that load one of them, in the order in which they were given. */
  services: string[];
}

export interface SourceWatchOptions {
  /** The folders that each service loads code from. */
  folders: ReadonlyMap<string, readonly string[]>;
  /** Called with one change at a time. What is saved meanwhile is the next change. */
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
    const folders = new Set([...options.folders.values()].flat());
    await Promise.all(Array.from(folders, (folder) => sources.#watch.add(folder)));
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
    this.#working = this.#options.onChange({ files, services: this.#servicesOf(files) }).finally(() => {
      this.#working = undefined;
      this.#publish();
    });
  }

  #servicesOf(files: readonly string[]): string[] {
    return [...this.#options.folders].flatMap(([service, folders]) =>
      files.some((file) => folders.some((folder) => isInside(folder, file))) ? [service] : [],
    );
  }
}

function isInside(folder: string, file: string): boolean {
  return file.startsWith(folder + path.sep);
}
