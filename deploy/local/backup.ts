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

/**
 * `make backup`: writes the state folder of `make up` into one file (0600): the files of PostgreSQL, and the secrets and
 * keys beside them. Kafka is left out, since it holds copies of what is in PostgreSQL.
 */

const run = promisify(execFile);
const secrets = ['postgres.password', 'secrets.json', 'credentials.json'];
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
    const words = [
      `--file=${archive}`,
      `--directory=${stateFolder}`,
      ...excluded(left),
      'postgres',
      ...secrets,
    ];
    await run('tar', ['--append', ...words]);
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
    await tar(archive, stateFolder, [...excluded([...left, 'pg_wal/*']), 'postgres', ...secrets]);
    const stopped = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(wait_for_archive => false)',
    );
    await mkdir(path.join(folder, 'postgres'));
    await writeFile(path.join(folder, 'postgres/backup_label'), stopped.rows[0]?.labelfile ?? '');
    await tar(archive, folder, ['postgres/backup_label']);
    const first = started.rows[0]?.wal ?? '';
    const segments = (await readdir(path.join(stateFolder, 'postgres/pg_wal')))
      .filter((name) => /^[\dA-F]{24}$/.test(name) && name >= first)
      .map((name) => `postgres/pg_wal/${name}`);
    await tar(archive, stateFolder, segments);
  } finally {
    await client.end();
    await rm(folder, { recursive: true });
  }
}

function excluded(patterns: readonly string[]): string[] {
  return patterns.map((pattern) => `--exclude=postgres/${pattern}`);
}

/** Appends files to an archive. They may change and vanish meanwhile, as the files of a running server do. */
async function tar(archive: string, folder: string, words: readonly string[]): Promise<void> {
  const quiet = ['--ignore-failed-read', '--warning=no-file-changed', '--warning=no-file-removed'];
  const options = ['--append', `--file=${archive}`, `--directory=${folder}`, ...quiet, ...words];
  await run('tar', options).catch((error: unknown) => {
    // Files have changed while they were read.
    if ((error as { code?: unknown }).code !== 1) throw error;
  });
}
