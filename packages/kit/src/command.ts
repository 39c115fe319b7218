import { ConfigError } from './config.ts';

/**
 * Runs a command as this process. If it fails, writes the reason to standard error and sets exit code 1. Node would
 * print every field of the error, and an invalid URL error has the whole URL, password included.
 */
export async function runCommand(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 1;
  }
}

/** The text for the operator: the list of problems for a `ConfigError`, otherwise the stack and the causes. */
export function errorText(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  const { stack, cause } = Object(error) as { stack?: unknown; cause?: unknown };
  const text = String(stack ?? error);
  return cause === undefined ? text : `${text}\nCaused by: ${errorText(cause)}`;
}
