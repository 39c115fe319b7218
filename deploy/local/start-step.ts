import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { StartError } from './start-error.ts';

const run = promisify(execFile);

/**
 * Runs a script as a step of the start, in a process that ends after it: its libraries would stay in the memory of the
 * supervisor. Throws what the script prints to its standard error if it fails.
 */
export async function runStep(
  script: string,
  words: readonly string[],
  env: Record<string, string | undefined>,
): Promise<void> {
  await run(process.execPath, [script, ...words], { env }).catch((error: unknown) => {
    const { stderr = '' } = Object(error) as { stderr?: string };
    throw new StartError(stderr.trim() === '' ? String(error) : stderr.trimEnd(), { cause: error });
  });
}
