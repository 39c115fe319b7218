import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { programOf, readPages, shown, withoutSpace } from '@gatehouse/test/examples';

/**
 * Runs the programs of a language in the pages of docs/: a part of steps of `make test-outside`, see
 * test/outside/README.md. Its arguments are the language and the command, to which the name of the file is added.
 */

const extensions: Readonly<Record<string, string>> = { python: 'py', go: 'go' };

const run = promisify(execFile);
const [language, command = '', ...args] = process.argv.slice(2);
if (language !== 'python' && language !== 'go') throw new Error(`unknown language: ${language ?? ''}`);

const folder = mkdtempSync(path.join(tmpdir(), 'gatehouse-docs-'));

/** The variables of the README, in a step that has a gateway. */
function variables(): Record<string, string> {
  const state = process.env['GATEHOUSE_STATE'];
  if (state === undefined) return {};
  const file = path.join(state, 'credentials.json');
  const { url, user_key: key } = JSON.parse(readFileSync(file, 'utf8')) as LocalCredentials;
  return { GATEHOUSE_URL: url, GATEHOUSE_KEY: key };
}

/** The problem, or null. */
async function problemOf({ code, prints }: { code: string; prints: string }): Promise<string | null> {
  const file = path.join(folder, `main.${extensions[language as string] ?? ''}`);
  writeFileSync(file, code);
  const { stdout } = await run(command, [...args, file], {
    env: { ...process.env, ...variables() },
    timeout: 300_000,
  });
  return shown(prints).test(withoutSpace(stdout)) ? null : `it prints ${JSON.stringify(stdout)}`;
}

for (const page of readPages()) {
  const program = programOf(page, language);
  if (program === undefined) continue;
  const problem = await problemOf(program).catch((error: unknown) => String(error).replaceAll('\n', ' '));
  console.log(problem === null ? `ok: ${page.file}` : `failed: ${page.file}: ${problem}`);
  if (problem !== null) process.exitCode = 1;
}
rmSync(folder, { recursive: true });
