import { readdir, readFile } from 'node:fs/promises';
import { sleep } from '@gatehouse/kit/clock';
import type { ChaosSystem } from './chaos-system.ts';

const killEveryMs = 100;

/**
 * Pauses, resumes or kills the whole server. A signal to the postmaster reaches it alone: its children are in sessions
 * of their own, and would go on serving.
 */
export async function signalPostgres(
  chaos: ChaosSystem,
  signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL',
): Promise<void> {
  const { pid } = chaos.local.processOf('postgres');
  // Before: a dead postmaster has no children. After: until it got the signal it may have made more.
  const before = pid === null ? [] : await childrenOf(pid);
  const postmaster = chaos.local.signal('postgres', signal);
  for (const child of new Set([...before, ...(await childrenOf(postmaster))])) {
    try {
      process.kill(child, signal);
    } catch (error) {
      // It ended between the look and the signal.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  chaos.mark(`${signal} to PostgreSQL`);
}

/** Kills the server again and again as the supervisor restarts it. */
export async function keepKillingPostgres(chaos: ChaosSystem, forMs: number): Promise<void> {
  const until = performance.now() + forMs;
  while (performance.now() < until) {
    const { pid } = chaos.local.processOf('postgres');
    if (pid !== null) {
      try {
        process.kill(pid, 'SIGKILL');
        chaos.mark('kill -9 of PostgreSQL');
      } catch {
        // Dead already; the supervisor has not noticed yet.
      }
    }
    await sleep(killEveryMs);
  }
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(pids.map(async (pid) => [pid, await parentOf(pid)] as const));
  return parents.filter(([, found]) => found === parent).map(([pid]) => pid);
}

async function parentOf(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  // The name before it is in brackets and may hold anything.
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}
