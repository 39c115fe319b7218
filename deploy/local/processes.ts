import { readFileSync } from 'node:fs';

/** Information about processes from Linux; empty or false for a process that has ended. */

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !(statOf(pid)?.state === 'Z');
}

/**
 * The start time of a process in kernel ticks. With the process id it identifies a process uniquely, because ids are
 * reused.
 */
export function startTicks(pid: number): string | undefined {
  return statOf(pid)?.startTicks;
}

/** The command line of a process, starting with its program. */
export function commandLine(pid: number): string[] {
  return read(`/proc/${pid}/cmdline`).split('\0');
}

export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended.
  }
}

function statOf(pid: number): { state: string; startTicks: string } | undefined {
  const text = read(`/proc/${pid}/stat`);
  // The second field is the program name in parentheses, which may contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, startTicksField] = [fields[0], fields[19]];
  return state === undefined || startTicksField === undefined
    ? undefined
    : { state, startTicks: startTicksField };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
