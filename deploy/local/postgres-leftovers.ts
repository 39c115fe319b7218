import { readdir, readFile, readlink } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal } from './processes.ts';

const fastShutdownMs = 10_000;

/**
 * Ends PostgreSQL processes left on this data folder by a crashed run: the postmaster and its backends. Affects only
 * processes of the program `postgres` with this folder as working directory, so never another process with a reused id.
 */
export async function stopLeftovers(dataDirectory: string): Promise<void> {
  const pids = await serversIn(dataDirectory);
  if (pids.length === 0) return;
  const postmaster = await postmasterPid(dataDirectory);
  if (postmaster !== undefined && pids.includes(postmaster)) {
    sendSignal(postmaster, 'SIGINT');
    await emptied(dataDirectory, fastShutdownMs);
  }
  for (const pid of await serversIn(dataDirectory)) sendSignal(pid, 'SIGKILL');
  await emptied(dataDirectory, fastShutdownMs);
}

async function postmasterPid(dataDirectory: string): Promise<number | undefined> {
  const text = await readFile(path.join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  return Number.parseInt(text, 10) || undefined;
}

/** Ids of PostgreSQL processes on a data folder, which is the working directory of all of them. */
export async function serversIn(dataDirectory: string): Promise<number[]> {
  const entries = await readdir('/proc').catch(() => []);
  const pids = entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
  const checks = await Promise.all(
    pids.map(async (pid) => ({ pid, ours: await worksIn(pid, dataDirectory) })),
  );
  return checks.filter(({ ours }) => ours).map(({ pid }) => pid);
}

async function worksIn(pid: number, dataDirectory: string): Promise<boolean> {
  try {
    const [program, folder] = await Promise.all([readlink(`/proc/${pid}/exe`), readlink(`/proc/${pid}/cwd`)]);
    return path.basename(program) === 'postgres' && folder === dataDirectory;
  } catch {
    return false;
  }
}

async function emptied(dataDirectory: string, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline && (await serversIn(dataDirectory)).length > 0) await sleep(20);
}
