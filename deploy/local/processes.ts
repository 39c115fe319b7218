import { readFileSync } from 'node:fs';

/** Information about processes from Linux; empty or false for an ended process. */

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !(statOf(pid)?.state === 'Z');
}

/** Id and start time, which identify a process: ids are reused. */
export function identityOf(pid: number): string {
  return `${pid} ${statOf(pid)?.startTicks ?? ''}\n`;
}

/** Id of an identified process, while it still runs. */
export function runningPid(identity: string): number | undefined {
  const pid = Number.parseInt(identity, 10);
  return pid > 0 && isAlive(pid) && identityOf(pid) === identity ? pid : undefined;
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
  const [state, startTicks] = [fields[0], fields[19]];
  return state === undefined || startTicks === undefined ? undefined : { state, startTicks };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
