import { execFile } from 'node:child_process';
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { dataFolder } from '@gatehouse/test/data-folder';
import { query } from '@gatehouse/test/query';
import { lockState } from './lock.ts';
import { postgresUser } from './os-user.ts';
import { freePort } from './ports.ts';
import { startPostgres, type Postgres } from './postgres.ts';
import { writeProcessList } from './process-list.ts';

/** Backups of a state folder whose PostgreSQL this test runs in place of `make up`. */

const secretFiles = ['postgres.password', 'secrets.json', 'credentials.json'];
const databaseTimeoutMs = 120_000;
let root: string;
let state: string;
let restored: string;
let servers: Postgres[];
beforeEach(async () => {
  root = await mkdtemp(path.join(dataFolder(), 'gatehouse-backup-'));
  // When run as root, PostgreSQL runs as another OS user.
  await chmod(root, 0o711);
  [state, restored] = [path.join(root, 'state'), path.join(root, 'restored')];
  servers = [];
});
afterEach(async () => {
  for (const server of servers) await server.stop();
  await rm(root, { recursive: true });
});

interface Ended {
  code: number;
  output: string;
}

function command(
  name: 'backup' | 'restore',
  folder: string,
  file: string,
  user: { uid?: number | undefined; gid?: number | undefined } = {},
): Promise<Ended> {
  const env = { ...process.env, GATEHOUSE_STATE: folder, FILE: file };
  return new Promise((resolve) => {
    const script = path.join(import.meta.dirname, `${name}.ts`);
    execFile(process.execPath, [script], { env, ...user }, (error, out, err) => {
      resolve({ code: error === null ? 0 : 1, output: out + err });
    });
  });
}

async function start(folder: string): Promise<Postgres> {
  const server = await startPostgres({
    dataDirectory: path.join(folder, 'postgres'),
    port: await freePort(),
    // Files of the log are used again soon, unless a backup keeps them.
    settings: { max_wal_size: '32MB', min_wal_size: '32MB', fsync: 'off' },
  });
  servers.push(server);
  return server;
}

/** A state folder with a PostgreSQL as `make up` leaves it, and a function that ends both. */
async function startState(): Promise<{ url: string; stop: () => Promise<void> }> {
  const server = await start(state);
  const unlock = await lockState(state);
  const secrets = { 'secrets.json': '{"keyRing":"k"}', 'credentials.json': '{"url":"u"}' };
  for (const [name, text] of Object.entries(secrets))
    await writeFile(path.join(state, name), text, { mode: 0o600 });
  writeProcessList(state, [{ name: 'postgres', pid: server.pid, ports: { postgres: server.port } }]);
  const url = server.adminUrl('postgres');
  await query(url, 'create table lines (id int primary key, text text not null)');
  return { url, stop: async () => void (await Promise.all([server.stop(), unlock()])) };
}

const append = (url: string, from: number): Promise<unknown> =>
  query(url, `insert into lines select n, repeat('x', 1000) from generate_series($1::int, $1::int + 999) n`, [
    from,
  ]);

/** How many lines there are after a restore; fails if one in between is missing. */
async function restoredLines(file: string): Promise<number> {
  expect(await command('restore', restored, file)).toEqual({
    code: 0,
    output: `restored ${restored}: start it with "make up"\n`,
  });
  const files = (await readdir(state)).filter((name) => secretFiles.includes(name));
  expect(files).toContain('secrets.json');
  for (const name of files)
    expect(await readFile(path.join(restored, name), 'utf8')).toBe(
      await readFile(path.join(state, name), 'utf8'),
    );
  const server = await start(restored);
  const [row] = await query<{ count: number; last: number; bytes: number }>(
    server.adminUrl('postgres'),
    'select count(*)::int, max(id) as last, min(length(text)) as bytes from lines',
  );
  expect([row?.last, row?.bytes]).toEqual([row?.count, 1_000]);
  return row?.count ?? 0;
}

it(
  'copies a running database while it is written to',
  async () => {
    const { url, stop } = await startState();
    let lines = 0;
    const write = async (): Promise<void> => {
      await append(url, lines + 1);
      lines += 1_000;
    };
    for (let batch = 0; batch < 5; batch += 1) await write();
    const before = lines;
    const file = path.join(root, 'backup.tar.gz');
    const ended = new AbortController();
    const backup = command('backup', state, file).finally(() => ended.abort());
    while (!ended.signal.aborted) await write();
    expect(await backup).toEqual({ code: 0, output: expect.stringContaining(`${file}: `) as unknown });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(root)).toEqual(expect.not.arrayContaining([expect.stringContaining('unfinished')]));
    await stop();
    expect(lines).toBeGreaterThan(before);
    expect(await restoredLines(file)).toBeGreaterThanOrEqual(before);
  },
  databaseTimeoutMs,
);

it(
  'copies a stopped database, and restores into no folder with data',
  async () => {
    const { url, stop } = await startState();
    await append(url, 1);
    await stop();
    const file = path.join(root, 'backup.tar.gz');
    expect((await command('backup', state, file)).code).toBe(0);
    expect(await restoredLines(file)).toBe(1_000);
    expect(await command('restore', restored, file)).toEqual({
      code: 1,
      output: `${restored} has data already: set GATEHOUSE_STATE to a new folder.\n`,
    });
  },
  databaseTimeoutMs,
);

it(
  'copies a system that has not made its keys yet',
  async () => {
    const { url, stop } = await startState();
    await append(url, 1);
    await rm(path.join(state, 'credentials.json'));
    const running = path.join(root, 'running.tar.gz');
    expect(await command('backup', state, running)).toMatchObject({ code: 0 });
    await stop();
    const stopped = path.join(root, 'stopped.tar.gz');
    expect(await command('backup', state, stopped)).toMatchObject({ code: 0 });
    for (const file of [running, stopped]) {
      expect(await restoredLines(file)).toBe(1_000);
      await servers.pop()?.stop();
      await rm(restored, { recursive: true });
    }
  },
  databaseTimeoutMs,
);

it(
  'fails for a file that it cannot read, and leaves nothing behind',
  async () => {
    const { url, stop } = await startState();
    await append(url, 1);
    // As another user than root, who can read every file.
    const user = await postgresUser();
    const { uid, gid } = user;
    if (uid !== undefined && gid !== undefined)
      for (const each of [root, state, ...secretFiles.map((name) => path.join(state, name))])
        await chown(each, uid, gid);
    const unreadable = path.join(state, 'postgres/base/1/unreadable');
    await writeFile(unreadable, 'rows', { mode: 0 });
    const { code, output } = await command('backup', state, path.join(root, 'backup.tar.gz'), user);
    expect([code, output]).toEqual([1, expect.stringContaining('unreadable')]);
    expect(await readdir(root)).toEqual(['state']);
    await stop();
  },
  databaseTimeoutMs,
);

it('says what is wrong, and leaves nothing behind', async () => {
  expect((await command('backup', state, path.join(root, 'none'))).output).toContain(
    'has no data of "make up"',
  );
  expect((await command('restore', restored, '')).output).toContain('Name the file of a backup');
  expect((await command('restore', restored, path.join(root, 'none'))).output).toContain("can't be read");
  const file = path.join(root, 'file');
  await writeFile(file, 'no archive');
  expect((await command('restore', restored, file)).output).toContain(
    'is not a whole backup of "make backup"',
  );
  expect(await readdir(restored)).toEqual([]);
});
