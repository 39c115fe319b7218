import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '../..');

/** A work tree of another revision with its packages, in a folder; `remove` deletes it. */
export async function checkOut(
  revision: string,
  folder: string,
): Promise<{ root: string; remove: () => Promise<void> }> {
  await run('git', ['worktree', 'add', '--detach', folder, revision], { cwd: root });
  const remove = async (): Promise<void> => {
    await run('git', ['worktree', 'remove', '--force', folder], { cwd: root });
  };
  try {
    await run('make', ['install'], { cwd: folder });
  } catch (error) {
    await remove();
    throw error;
  }
  return { root: folder, remove };
}
