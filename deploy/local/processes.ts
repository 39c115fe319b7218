import { readFileSync } from 'node:fs';

/** Questions to Linux about processes; all answer "no" for one that has ended. */

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !(statOf(pid)?.state === 'Z');
}

/** When a process began, in the kernel's ticks: with the id it names one process for good, since ids are reused. */
export function startTicks(pid: number): string | undefined {
  return statOf(pid)?.startTicks;
}

/** The arguments of a process, its program first. */
export function commandLine(pid: number): string[] {
  return read(`/proc/${pid}/cmdline`).split('\0');
}

export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended in the meantime.
  }
}

function statOf(pid: number): { state: string; startTicks: string } | undefined {
  const text = read(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
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
