import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { freePort } from './ports.ts';
import { serversIn } from './postgres-leftovers.ts';
import { startPostgres, type Postgres } from './postgres.ts';

describe('the embedded PostgreSQL', () => {
  let folder: string;
  let dataDirectory: string;
  let server: Postgres | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-postgres-'));
    await chmod(folder, 0o711);
    dataDirectory = path.join(folder, 'data');
  });

  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(): Promise<Postgres> {
    server = await startPostgres({ dataDirectory, port: await freePort() });
    return server;
  }

  async function query(text: string, url = server?.adminUrl('postgres')): Promise<unknown> {
    const client = new Client({ connectionString: url ?? '' });
    client.on('error', () => undefined);
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(text);
      return Object.values(rows[0] ?? {})[0];
    } finally {
      await client.end();
    }
  }

  it('accepts connections when started, durable, in UTF-8 and with the plain C order', async () => {
    await start();
    expect(await query('show fsync')).toBe('on');
    expect(await query('show synchronous_commit')).toBe('on');
    expect(await query('show server_encoding')).toBe('UTF8');
    expect(await query('show max_connections')).toBe('300');
    expect(await query("select datcollate from pg_database where datname = 'postgres'")).toBe('C');
  });

  it('refuses a wrong password and keeps the right one in a file that only its owner may read', async () => {
    const url = new URL(server?.adminUrl('postgres') ?? '');
    expect((await stat(`${dataDirectory}.password`)).mode & 0o777).toBe(0o600);
    expect(await readFile(`${dataDirectory}.password`, 'utf8')).toBe(url.password);
    url.password = 'guess';
    await expect(query('select 1', url.href)).rejects.toThrow('password authentication failed');
  });

  it('keeps what was committed over a stop and a start on another port', async () => {
    await query('create table kept (id int)');
    await server?.stop();
    await start();
    expect(await query('select count(*)::int from kept')).toBe(0);
  });

  it('keeps what was committed when the server is killed', async () => {
    await query('insert into kept values (1)');
    const killed = server;
    process.kill(killed?.pid ?? 0, 'SIGKILL');
    await killed?.ended;
    await start();
    expect(await query('select count(*)::int from kept')).toBe(1);
  });

  it('stops the server that an earlier run has left on the same folder', async () => {
    const left = server;
    await start();
    await left?.ended;
    expect(server?.pid).not.toBe(left?.pid);
    expect(await query('select count(*)::int from kept')).toBe(1);
  });

  it('leaves no process behind when stopped', async () => {
    await server?.stop();
    expect(await serversIn(dataDirectory)).toEqual([]);
  });

  it("reports the reason from its log when it can't start", async () => {
    await expect(
      startPostgres({ dataDirectory, port: await freePort(), settings: { shared_buffers: 'plenty' } }),
    ).rejects.toThrow(/shared_buffers/);
  });
});
