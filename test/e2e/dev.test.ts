import { utimes } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ListedProcess } from '@gatehouse/local/process-list';
import { freePort } from '@gatehouse/local/ports';
import { repositoryRoot } from '@gatehouse/local/settings';
import { LocalSystem } from '@gatehouse/test/local-system';
import { makeUsedStateFolder } from '@gatehouse/test/used-state';

const startTimeoutMs = 90_000;

describe('make dev', () => {
  let system: LocalSystem;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    const state = await makeUsedStateFolder();
    remove = state.remove;
    system = new LocalSystem(state.folder, { PORT: String(await freePort()) }, ['--watch']);
    await system.ready();
  }, startTimeoutMs);

  afterAll(async () => {
    await system.stop();
    await remove();
  }, startTimeoutMs);

  /** As saving the file would, but its content stays. */
  async function touch(file: string): Promise<void> {
    const now = new Date();
    await utimes(path.join(repositoryRoot, file), now, now);
  }

  /** Names of the processes that are other ones than before. */
  function replaced(before: ListedProcess[], after: ListedProcess[]): string[] {
    return after.filter(({ pid }) => !before.some((entry) => entry.pid === pid)).map(({ name }) => name);
  }

  it('restarts the service whose file was saved, and nothing else', async () => {
    const before = system.processes();
    await touch('services/analytics/src/config.ts');
    await system.waitForOutput(/services\/analytics\/src\/config\.ts changed: restarting analytics\n/);
    await system.waitForOutput(/analytics-1 runs again/);
    expect(replaced(before, system.processes())).toEqual(['analytics-1']);
  });

  it('restarts every service that loads the file of a package, and no other', async () => {
    const before = system.processes();
    await touch('packages/identity/src/key-text.ts');
    const names = ['tenant-1', 'edge-1'];
    for (const name of names) await system.waitForOutput(new RegExp(`${name} runs again`));
    expect(replaced(before, system.processes())).toEqual(names);
  });

  it('leaves a service that crashed down until the next change', async () => {
    system.signal('analytics-1', 'SIGKILL');
    await system.waitForOutput(/analytics-1 exited with signal SIGKILL; it restarts with the next change/);
    await touch('services/analytics/src/config.ts');
    await system.waitForOutput(/(analytics-1 runs again[^]*){2}/);
  });
});
