import { access, constants, readdir } from 'node:fs/promises';
import path from 'node:path';

const programs = ['initdb', 'postgres', 'psql', 'pg_dump', 'pg_dumpall', 'pg_restore'];
/** The folder of PostgreSQL tools on Debian, by major version. */
const debian = '/usr/lib/postgresql';

/**
 * Returns a folder with PostgreSQL and its tools, which the npm package lacks; undefined if this machine has none.
 * `pg_dump` does not support newer servers, so server and tools must have the same version.
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
