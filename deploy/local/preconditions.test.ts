import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { makeStateFolder } from './preconditions.ts';

it('makes a state folder with its parents', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-preconditions-'));
  const state = path.join(folder, 'a/b/c');
  await makeStateFolder(state);
  await makeStateFolder(state);
  expect((await stat(state)).mode & 0o011).toBe(0o011);
  await writeFile(path.join(folder, 'file'), '');
  await expect(makeStateFolder(path.join(folder, 'file/state'))).rejects.toThrow('set GATEHOUSE_STATE');
  await rm(folder, { recursive: true });
});

it.each(['/proc/1/state', '/dev/null', '/dev/null/state'])('ends at once for %s', async (folder) => {
  await expect(makeStateFolder(folder)).rejects.toThrow(
    `The state folder ${folder} can't be used; set GATEHOUSE_STATE to another folder`,
  );
});
