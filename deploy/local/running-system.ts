import path from 'node:path';
import { supervisorOf } from './lock.ts';
import { adminUrlOf, readPassword } from './postgres.ts';
import { readProcessList } from './process-list.ts';
import { StartError } from './start-error.ts';

/** The PostgreSQL of a running `make up`: `adminUrl` returns a URL of its superuser. Throws a `StartError` without one. */
export async function runningDatabase(stateFolder: string): Promise<{ adminUrl: (name: string) => string }> {
  const postgres = readProcessList(stateFolder).find(({ name }) => name === 'postgres');
  const port = postgres?.ports['postgres'];
  if (port === undefined || (await supervisorOf(stateFolder)) === undefined)
    throw new StartError(
      `Gatehouse is not running on ${stateFolder}: start it with "make up", or set GATEHOUSE_STATE to its folder.`,
    );
  const password = await readPassword(path.join(stateFolder, 'postgres'));
  return { adminUrl: (name) => adminUrlOf({ port, password }, name) };
}
