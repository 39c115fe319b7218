import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { UsageError } from '../usage-error.ts';
import { SecretsFile } from './secrets-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-cli-'));
});
afterEach(async () => rm(folder, { recursive: true }));

it.each(['{broken', '[]', 'null', '{"kind":"agents"}'])(
  'a line that is %s is named by its number',
  async (line) => {
    const file = path.join(folder, 'secrets.jsonl');
    await writeFile(file, `{"kind":"agents","name":"a","pending":"x"}\n\n${line}\n`);
    const refusal = await new SecretsFile(file).pending().catch((error: unknown) => error);
    // Other errors are printed with their stack.
    expect(refusal).toBeInstanceOf(UsageError);
    expect(String(refusal)).toContain(`${file}: line 3 is not one that apply has written.`);
  },
);

it('a file that does not exist has no pending creations, one that cannot be read is an error', async () => {
  expect(await new SecretsFile(path.join(folder, 'none')).pending()).toEqual([]);
  await expect(new SecretsFile(folder).pending()).rejects.toThrow('EISDIR');
});
