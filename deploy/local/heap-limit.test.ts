import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { heapLimit } from './heap-limit.ts';
import { repositoryRoot } from './settings.ts';

const run = promisify(execFile);
const gib = 2 ** 30;

/** The limit of the heap of a process with these options, in bytes. */
async function limitOf(options: readonly string[]): Promise<number> {
  const script = 'v8.getHeapStatistics().heap_size_limit';
  const { stdout } = await run(process.execPath, [...options, '--print', script]);
  return Number(stdout);
}

it.each([
  [1, 64 * gib, 1_024],
  [1, gib, 614],
  [7, 4 * gib, 351],
  [7, gib, 128],
])('limits the heaps of %i processes in %i bytes to %i MiB', (processes, memory, expected) => {
  expect(heapLimit(processes, memory)).toBe(`--max-old-space-size=${expected}`);
});

it('limits the heap of a process by options that this Node has', async () => {
  // Young objects are not in the limit.
  expect(await limitOf([heapLimit(1, gib)])).toBeLessThan(gib);
  const dockerfile = await readFile(path.join(repositoryRoot, 'deploy/Dockerfile'), 'utf8');
  const [, command = '[]'] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? [];
  const [, limit = ''] = JSON.parse(command) as string[];
  const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  const share = (await limitOf([limit])) / memory;
  expect([share > 0.5, share < 0.8]).toEqual([true, true]);
});
