import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { lockState } from './lock.ts';

describe('the lock of a state folder', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-lock-'));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it('is refused in one sentence while its holder runs, and free again afterwards', async () => {
    const unlock = await lockState(folder);
    await expect(lockState(folder)).rejects.toThrow(
      `is already running on ${folder} (process ${process.pid})`,
    );
    await unlock();
    await (
      await lockState(folder)
    )();
  });

  it.each(['', '999999999 1\n', `${process.pid} 1\n`])('is taken from one that crashed: %j', async (left) => {
    await writeFile(path.join(folder, 'supervisor.pid'), left);
    const unlock = await lockState(folder);
    expect(await readFile(path.join(folder, 'supervisor.pid'), 'utf8')).toMatch(
      new RegExp(`^${process.pid} \\d{2,}`),
    );
    await unlock();
    expect(await readdir(folder)).toEqual([]);
  });
});
