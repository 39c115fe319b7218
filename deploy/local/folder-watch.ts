import { watch, type FSWatcher } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Calls back with each file saved, added or removed in a folder, including folders added later. `fs.watch` with
 * `recursive` misses the second time an editor replaces a file by a rename (Node 24.21), so each folder gets its
 * own watcher.
 */
export class FolderWatch {
  readonly #onFile: (file: string) => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #closed = false;

  constructor(onFile: (file: string) => void) {
    this.#onFile = onFile;
  }

  /** Resolves once every later change will be seen. Leaves out paths of files. */
  async add(folder: string): Promise<void> {
    await this.#add(folder, () => undefined);
  }

  close(): void {
    this.#closed = true;
    for (const watcher of this.#watchers.values()) watcher.close();
  }

  async #add(folder: string, onFound: (file: string) => void): Promise<void> {
    const stats = await stat(folder).catch(() => undefined);
    if (stats?.isDirectory() !== true || !this.#watch(folder)) return;
    // Listed after the watch began, so no file is missed in between.
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      const inside = path.join(folder, entry.name);
      if (entry.isDirectory()) await this.#add(inside, onFound);
      else onFound(inside);
    }
  }

  /** Returns false if the folder was removed in the meantime, or the watch is closed. */
  #watch(folder: string): boolean {
    if (this.#closed) return false;
    // A folder removed and made again needs a new watcher.
    this.#watchers.get(folder)?.close();
    try {
      const watcher = watch(folder, (event, name) => this.#onEvent(folder, event, name));
      watcher.on('error', () => watcher.close());
      this.#watchers.set(folder, watcher);
      return true;
    } catch {
      return false;
    }
  }

  #onEvent(folder: string, event: string, name: string | null): void {
    if (name === null) return;
    const changed = path.join(folder, name);
    this.#onFile(changed);
    if (event === 'rename') void this.#add(changed, this.#onFile);
  }
}
