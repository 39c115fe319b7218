/** The reason why the system cannot start, in one sentence for the operator; printed without a stack. */
export class StartError extends Error {}

/** Prints one sentence for problems the operator can solve, and the stack for all others. */
export function printFailure(error: unknown): void {
  const known = error instanceof StartError;
  process.stderr.write(`${known ? error.message : String((error as Error).stack)}\n`);
}

/** Runs a command as this process, which ends with 1 and the reason if it fails. */
export async function runLocalCommand(command: () => Promise<void>): Promise<void> {
  try {
    await command();
  } catch (error) {
    printFailure(error);
    process.exitCode = 1;
  }
}
