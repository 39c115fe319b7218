import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** CPU time and memory of processes, read from /proc (Linux only, as the measured goals are). */

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/**
 * User and system time so far, in milliseconds; children that a server forked (PostgreSQL's backends) included, ended ones
 * too. `isParent`: without those that still run.
 */
export function cpuMs(pid: number, isParent = false): number {
  return [pid, ...(isParent ? [] : childrenOf(pid))].reduce((sum, each) => sum + ownCpuMs(each), 0);
}

/** Resident memory in MiB; for a server with children its own alone, since they share most of theirs. */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

/** Resident memory that is not shared, in MiB, with that of children, or without it (`isParent`). */
export function privateMiB(pid: number, isParent = false): number {
  const kilobytes = [pid, ...(isParent ? [] : childrenOf(pid))].map((each) => {
    try {
      const status = readFileSync(`/proc/${each}/status`, 'utf8');
      return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
    } catch {
      // A child has ended.
      return 0;
    }
  });
  return kilobytes.reduce((sum, each) => sum + each, 0) / 1024;
}

/** Binds a process with all its threads and children to one core; false where the machine has no `taskset`. */
export function pin(pid: number, core: number): boolean {
  try {
    for (const each of [pid, ...childrenOf(pid)]) {
      execFileSync('taskset', ['-acp', String(core), String(each)], { stdio: 'ignore' });
    }
    return true;
  } catch {
    return false;
  }
}

function childrenOf(pid: number): number[] {
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return ids.map(Number).filter((id) => {
    try {
      return Number(statFields(id)[1]) === pid;
    } catch {
      // It ended between the listing and the look.
      return false;
    }
  });
}

/** CPU time of the process, and of the children that it has waited for. */
function ownCpuMs(pid: number): number {
  try {
    const fields = statFields(pid);
    const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
    return (ticks * 1_000) / ticksPerSecond;
  } catch {
    return 0;
  }
}

/** Fields of /proc/<pid>/stat from the state on (proc(5)); the name before may hold spaces. */
function statFields(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
