import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { freePort } from '@gatehouse/local/ports';
import { repositoryRoot } from '@gatehouse/local/settings';
import { LocalSystem } from './local-system.ts';
import { makeUsedStateFolder } from './used-state.ts';

const run = promisify(execFile);

/** A terminal in the repository while `make up` runs in another one. */
export class Terminal {
  /** Stands for the repository: contains the state folder under its default name. */
  readonly folder: string;
  readonly #system: LocalSystem;
  readonly #removeState: () => Promise<void>;

  private constructor(folder: string, system: LocalSystem, removeState: () => Promise<void>) {
    this.folder = folder;
    this.#system = system;
    this.#removeState = removeState;
  }

  static async open(settings: Record<string, string> = {}): Promise<Terminal> {
    const state = await makeUsedStateFolder();
    const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-terminal-'));
    await symlink(state.folder, path.join(folder, '.gatehouse'));
    await symlink(path.join(repositoryRoot, 'node_modules'), path.join(folder, 'node_modules'));
    const system = new LocalSystem(state.folder, { PORT: String(await freePort()), ...settings });
    const terminal = new Terminal(folder, system, state.remove);
    try {
      await system.ready();
    } catch (error) {
      await terminal.close();
      throw error;
    }
    return terminal;
  }

  /** Runs a script as if pasted, and returns its output. */
  async paste(script: string): Promise<string> {
    const { stdout, stderr } = await run('bash', ['-e', '-c', script], { cwd: this.folder });
    expect(stderr).toBe('');
    return stdout;
  }

  async save(file: string, text: string): Promise<void> {
    await writeFile(path.join(this.folder, file), text);
  }

  async close(): Promise<void> {
    await this.#system.stop();
    await rm(this.folder, { recursive: true, force: true });
    await this.#removeState();
  }
}
