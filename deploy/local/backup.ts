import { execFile } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { lockState, supervisorOf } from './lock.ts';
import { stopLeftovers } from './postgres-leftovers.ts';
import { runningDatabase } from './running-system.ts';
import { loadSettings } from './settings.ts';
import { runLocalCommand, StartError } from './start-error.ts';
import { stateParts } from './state-parts.ts';

/**
 * `make backup`: writes the state folder of `make up` into one file (0600): the files of PostgreSQL, and the secrets and
 * keys beside them. Kafka is left out, since it holds copies of what is in PostgreSQL.
 */

const run = promisify(execFile);
/** Files that a server creates again, or that belong to a running one. */
const left = ['postmaster.pid', 'postmaster.opts', 'pg_replslot/*', 'pg_stat_tmp/*', 'base/pgsql_tmp*'];

await runLocalCommand(async () => {
  const { stateFolder } = loadSettings(process.env);
  const file = path.resolve(process.env['FILE'] || `gatehouse-${timestamp()}.tar.gz`);
  await assertData(stateFolder);
  const unfinished = `${file}.unfinished`;
  // Made first, because it holds secrets from its first byte on.
  await (await open(unfinished, 'wx', 0o600)).close();
  try {
    if ((await supervisorOf(stateFolder)) === undefined) await copyStopped(stateFolder, unfinished);
    else await copyRunning(stateFolder, unfinished);
    await run('gzip', ['--force', unfinished]);
    await chmod(`${unfinished}.gz`, 0o600);
    await rename(`${unfinished}.gz`, file);
  } finally {
    await Promise.all([unfinished, `${unfinished}.gz`].map((each) => rm(each, { force: true })));
  }
  const { size } = await stat(file);
  process.stdout.write(`${file}: ${(size / 1e6).toFixed(1)} MB, with every secret of ${stateFolder}\n`);
});

function timestamp(): string {
  return new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

async function assertData(stateFolder: string): Promise<void> {
  for (const name of ['postgres/PG_VERSION', 'secrets.json'])
    await stat(path.join(stateFolder, name)).catch((error: unknown) => {
      throw new StartError(`${stateFolder} has no data of "make up" to back up: ${name} is missing.`, {
        cause: error,
      });
    });
}

/** No `make up` starts meanwhile. After a crash the next start recovers, from a copy too. */
async function copyStopped(stateFolder: string, archive: string): Promise<void> {
  const unlock = await lockState(stateFolder);
  try {
    // Leftovers are found by their folder, which the system knows without symbolic links.
    await stopLeftovers(await realpath(path.join(stateFolder, 'postgres')));
    // Nothing changes meanwhile: a file that does is an error.
    await run('tar', [
      ...appending(archive, stateFolder),
      ...excluded(left),
      ...(await partsOf(stateFolder)),
    ]);
  } finally {
    await unlock();
  }
}

/**
 * PostgreSQL's low-level base backup: files that change while they are copied are mended by the write-ahead log from
 * the start of the copy on, which a slot keeps.
 */
async function copyRunning(stateFolder: string, archive: string): Promise<void> {
  const { adminUrl } = await runningDatabase(stateFolder);
  const client = new Client({ connectionString: adminUrl('postgres') });
  await client.connect();
  const folder = await mkdtemp(`${archive}-`);
  try {
    await client.query(
      `select pg_create_physical_replication_slot('backup_' || pg_backend_pid(), true, true)`,
    );
    const started = await client.query<{ wal: string }>(
      `select pg_walfile_name(pg_backup_start('make backup', fast => true)) as wal`,
    );
    await copyChanging(archive, stateFolder);
    const stopped = await client.query<{ label: string; wal: string }>(
      `select labelfile as label, pg_walfile_name(lsn) as wal from pg_backup_stop(wait_for_archive => false)`,
    );
    const [first = '', last = ''] = [started.rows[0]?.wal, stopped.rows[0]?.wal];
    await mkdir(path.join(folder, 'postgres'));
    await writeFile(path.join(folder, 'postgres/backup_label'), stopped.rows[0]?.label ?? '');
    await run('tar', [...appending(archive, folder), 'postgres/backup_label']);
    // The slot keeps these; later ones may vanish at any time.
    const segments = (await readdir(path.join(stateFolder, 'postgres/pg_wal')))
      .filter((name) => /^[\dA-F]{24}$/.test(name) && name >= first && name <= last)
      .map((name) => `postgres/pg_wal/${name}`);
    await run('tar', [...appending(archive, stateFolder), ...segments]);
  } finally {
    await client.end();
    await rm(folder, { recursive: true });
  }
}

function excluded(patterns: readonly string[]): string[] {
  return patterns.map((pattern) => `--exclude=postgres/${pattern}`);
}

/** The parts of a state folder that a backup has. Without a start that ended well there are no credentials yet. */
async function partsOf(stateFolder: string): Promise<string[]> {
  const present = await readdir(stateFolder);
  return stateParts
    .filter(({ name, isOptional }) => !isOptional || present.includes(name))
    .map(({ name }) => name);
}

/** Options of tar for adding the files of a folder to an archive. */
function appending(archive: string, folder: string): string[] {
  return ['--append', `--file=${archive}`, `--directory=${folder}`];
}

/** Adds the files of a running server, but for its log: they may change, shrink and vanish meanwhile. */
async function copyChanging(archive: string, stateFolder: string): Promise<void> {
  const quiet = ['--warning=no-file-changed', '--warning=no-file-removed'];
  const words = [...quiet, ...excluded([...left, 'pg_wal/*']), ...(await partsOf(stateFolder))];
  await run('tar', [...appending(archive, stateFolder), ...words]).catch((error: unknown) => {
    // tar ends with 1 if files have changed or vanished, with 2 for any other failure.
    if ((error as { code?: unknown }).code !== 1) throw error;
  });
}
