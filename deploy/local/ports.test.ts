import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const run = promisify(execFile);

it('ports that were found are not found again before they are opened, also not by others that begin at the same place', async () => {
  const url = path.join(import.meta.dirname, 'ports.ts');
  // Two instances of the module in one process: both begin where its id says.
  const script = `
    const [one, other] = await Promise.all([import('${url}'), import('${url}?other')]);
    console.log(JSON.stringify(await Promise.all([one.freePort(), other.freePort(3), one.freePort()])));
  `;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  const [first, row, last] = JSON.parse(stdout) as [number, number, number];
  expect(new Set([first, row, row + 1, row + 2, last]).size).toBe(5);
});
