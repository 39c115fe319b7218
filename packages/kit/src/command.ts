import { ConfigError } from './config.ts';

/**
 * Runs a command as this process: exit code 1 and the reason on standard error when it fails. Node itself would print
 * every field of the error as well, and that of an invalid URL holds the whole URL.
 */
export async function runCommand(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 1;
  }
}

/** For the person at the terminal: what is wrong with settings; else where it failed, and what caused that. */
export function errorText(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  const { stack, cause } = Object(error) as { stack?: unknown; cause?: unknown };
  const text = String(stack ?? error);
  return cause === undefined ? text : `${text}\nCaused by: ${errorText(cause)}`;
}
