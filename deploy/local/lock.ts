import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isAlive, startTicks } from './processes.ts';
import { StartError } from './start-error.ts';

const fileName = 'supervisor.pid';
const attempts = 5;

/**
 * Makes this process the only supervisor of a state folder and returns how to give that up. The file holds our process
 * id and when the process began, so that the lock of one that crashed is seen to be void, reused ids included.
 */
export async function lockState(stateFolder: string): Promise<() => Promise<void>> {
  const file = path.join(stateFolder, fileName);
  const mine = `${process.pid} ${startTicks(process.pid) ?? ''}\n`;
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, mine);
  try {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      if (await linked(draft, file)) return () => rm(file, { force: true });
      const held = await readFile(file, 'utf8').catch(() => '');
      if (isHeld(held)) throw alreadyRunning(held, stateFolder);
      await removeVoid(file, held);
    }
  } finally {
    await rm(draft, { force: true });
  }
  throw new StartError(`The lock ${file} could not be taken.`);
}

/** A link appears with its content or not at all, and never replaces another. */
async function linked(draft: string, file: string): Promise<boolean> {
  return link(draft, file).then(
    () => true,
    (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    },
  );
}

/** Moved aside first: what another start has put in its place since we read it must come back. */
async function removeVoid(file: string, held: string): Promise<void> {
  const aside = `${file}.void-${process.pid}`;
  try {
    await rename(file, aside);
  } catch {
    return;
  }
  if ((await readFile(aside, 'utf8')) !== held) await linked(aside, file);
  await rm(aside, { force: true });
}

function isHeld(content: string): boolean {
  const [pid = '', ticks] = content.trim().split(' ');
  const id = Number.parseInt(pid, 10);
  return id > 0 && isAlive(id) && startTicks(id) === ticks;
}

function alreadyRunning(content: string, stateFolder: string): StartError {
  const [pid = ''] = content.split(' ');
  return new StartError(
    `Gatehouse already runs on ${stateFolder} (process ${pid}); stop it, or set GATEHOUSE_STATE and PORT to others.`,
  );
}
