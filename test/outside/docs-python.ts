import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Credentials } from '@gatehouse/local/credentials';
import { programOf, readPages, shown, withoutSpace } from '@gatehouse/test/examples';

/** A step of `make test-outside` (15-docs-python.sh): see test/outside/README.md. Its argument is the interpreter. */

const run = promisify(execFile);
const [python = ''] = process.argv.slice(2);
const state = process.env['GATEHOUSE_STATE'] ?? '';
const { url, user_key } = JSON.parse(
  readFileSync(path.join(state, 'credentials.json'), 'utf8'),
) as Credentials;

/** What is wrong, or null. */
async function problemOf({ code, prints }: { code: string; prints: string }): Promise<string | null> {
  const { stdout } = await run(python, ['-B', '-c', code], {
    env: { ...process.env, GATEHOUSE_URL: url, GATEHOUSE_KEY: user_key },
    timeout: 60_000,
  });
  return shown(prints).test(withoutSpace(stdout)) ? null : `it prints ${JSON.stringify(stdout)}`;
}

for (const page of readPages()) {
  const program = programOf(page, 'python');
  if (program === undefined) continue;
  const problem = await problemOf(program).catch((error: unknown) => String(error).replaceAll('\n', ' '));
  console.log(problem === null ? `ok: ${page.file}` : `failed: ${page.file}: ${problem}`);
  if (problem !== null) process.exitCode = 1;
}
