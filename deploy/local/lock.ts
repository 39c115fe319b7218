import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { identityOf, runningPid } from './processes.ts';
import { StartError } from './start-error.ts';

const fileName = 'supervisor.pid';
const attempts = 5;

/**
 * Makes this process the only supervisor of a state folder, and returns a function to release the lock. The file has
 * the process id and the start time of the process, so the lock of a crashed process is recognized even if its id was
 * reused.
 */
export async function lockState(stateFolder: string): Promise<() => Promise<void>> {
  const file = path.join(stateFolder, fileName);
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, identityOf(process.pid));
  try {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      if (await linked(draft, file)) return () => rm(file, { force: true });
      const held = await readFile(file, 'utf8').catch(() => '');
      const holder = runningPid(held);
      if (holder !== undefined)
        throw new StartError(
          `Gatehouse is already running on ${stateFolder} (process ${holder}); stop it, or set other values for GATEHOUSE_STATE and PORT.`,
        );
      await removeStale(file, held);
    }
  } finally {
    await rm(draft, { force: true });
  }
  throw new StartError(`Failed to create the lock ${file}.`);
}

/** Process id of the supervisor of a state folder; undefined if it does not run. */
export async function supervisorOf(stateFolder: string): Promise<number | undefined> {
  return runningPid(await readFile(path.join(stateFolder, fileName), 'utf8').catch(() => ''));
}

/** A hard link appears atomically with its content and never replaces another file. */
async function linked(draft: string, file: string): Promise<boolean> {
  return link(draft, file).then(
    () => true,
    (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    },
  );
}

/** Renames the file first. If another start has replaced it since it was read, restores it. */
async function removeStale(file: string, held: string): Promise<void> {
  const aside = `${file}.stale-${process.pid}`;
  try {
    await rename(file, aside);
  } catch {
    return;
  }
  if ((await readFile(aside, 'utf8')) !== held) await linked(aside, file);
  await rm(aside, { force: true });
}
