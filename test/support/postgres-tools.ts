import { access, constants, readdir } from 'node:fs/promises';
import path from 'node:path';

const programs = ['initdb', 'postgres', 'psql', 'pg_dump', 'pg_dumpall', 'pg_restore'];
/** Where Debian and its kin put them, by major version. */
const debian = '/usr/lib/postgresql';

/**
 * A folder with a PostgreSQL and its own tools, which npm's has none of; undefined where this machine has no such
 * folder. `pg_dump` refuses a server that is newer than itself, so they must be of one version.
 */
export async function postgresWithTools(): Promise<string | undefined> {
  const versions = await readdir(debian).catch(() => []);
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a));
  const folders = [
    ...(process.env['PATH'] ?? '').split(path.delimiter),
    ...newestFirst.map((version) => path.join(debian, version, 'bin')),
  ];
  for (const folder of folders) {
    const found = programs.map((program) => access(path.join(folder, program), constants.X_OK));
    if ((await Promise.allSettled(found)).every(({ status }) => status === 'fulfilled')) return folder;
  }
  return undefined;
}
