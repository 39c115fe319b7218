import { execFile } from 'node:child_process';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { services } from '@gatehouse/contract/services';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres } from '@gatehouse/local/postgres';
import { serversIn } from '@gatehouse/local/postgres-leftovers';
import { LocalSystem, makeStateFolder, survivors } from '@gatehouse/test/local-system';
import { eventually } from '@gatehouse/test/eventually';
import { query } from '@gatehouse/test/query';
import { makeUsedStateFolder } from '@gatehouse/test/used-state';

const run = promisify(execFile);
const startTimeoutMs = 90_000;

const otherCatalogue = `
providers:
  - { name: elsewhere, kind: openai, base_url: '\${OPENAI_BASE_URL}', api_key_env: OPENAI_API_KEY }
models:
  - { id: other-model, provider: elsewhere }
`;

async function get(url: string, key: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('make up', () => {
  let folder: string;
  let remove: () => Promise<void>;
  let system: LocalSystem;
  let first: LocalCredentials;

  beforeAll(async () => {
    ({ folder, remove } = await makeStateFolder());
    system = new LocalSystem(folder, { PORT: String(await freePort()) });
    first = await system.ready();
  }, startTimeoutMs);

  afterAll(async () => {
    await system.stop();
    await remove();
  }, startTimeoutMs);

  async function restart(settings: Record<string, string> = {}): Promise<LocalCredentials> {
    system = new LocalSystem(folder, { PORT: new URL(first.url).port, ...settings });
    return system.ready();
  }

  async function runCurlLine(): Promise<Record<string, unknown>> {
    const line = system.output.split('\n').find((text) => text.startsWith('curl ')) ?? '';
    return JSON.parse((await run('bash', ['-c', line])).stdout) as Record<string, unknown>;
  }

  it('says plainly that answers come from the simulator when no provider is set', () => {
    expect(system.output).toContain('are not set: the bundled simulator answers, not a model.');
  });

  it('writes keys that work to a file that only its owner may read', async () => {
    expect((await stat(path.join(folder, 'credentials.json'))).mode & 0o777).toBe(0o600);
    expect(Object.keys(first)).toEqual([
      'url',
      'owner_key',
      'tenant_id',
      'tenant_slug',
      'admin_key',
      'user_key',
      'agent_key',
    ]);
    const { tenant_id, tenant_slug } = first;
    const whoami = `${first.url}/v1/whoami`;
    expect(await get(whoami, first.owner_key)).toMatchObject({ status: 200, body: { role: 'owner' } });
    for (const [key, role] of [
      [first.admin_key, 'admin'],
      [first.user_key, 'user'],
    ] as const) {
      expect(await get(whoami, key)).toMatchObject({ status: 200, body: { role, tenant_id, tenant_slug } });
    }
    const agent = await get(`${first.url}/v1/agents/${first.agent_key}`, first.user_key);
    expect(agent).toMatchObject({ status: 200, body: { key: first.agent_key, model: 'gpt-4.1-mini' } });
  });

  it('prints where it is ready and a curl line that works when pasted', async () => {
    expect(system.output).toMatch(new RegExp(`^ready: ${first.url}$`, 'm'));
    expect(await runCurlLine()).toMatchObject({ object: 'chat.completion' });
  });

  it('prints a link that logs a browser in once, and that a preview does not use up', async () => {
    await system.waitForOutput(/^log in, once and within a minute: .*\n/m);
    const [, link = ''] = /^log in, once and within a minute: (\S+)$/m.exec(system.output) ?? [];
    expect(link).toMatch(`${first.url}/login/link?ticket=`);
    const ticket = new URL(link).searchParams.get('ticket') ?? '';
    for (const _ of [1, 2]) expect((await fetch(link)).status).toBe(200);
    const press = (site: string): Promise<Response> =>
      fetch(`${first.url}/login/link`, {
        ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams({ ticket }) },
        headers: { 'sec-fetch-site': site },
      });
    expect((await press('cross-site')).status).toBe(403);
    const entered = await press('same-origin');
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/app/']);
    const cookie = (entered.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const headers = { cookie, 'sec-fetch-site': 'same-origin', 'x-gatehouse-page': '1' };
    const session = await fetch(`${first.url}/v1/session`, { headers });
    expect(await session.json()).toMatchObject({ role: 'admin', tenant: first.tenant_slug });
    expect((await press('same-origin')).status).toBe(410);
  });

  it('keeps the keys out of the log', () => {
    const lines = system.output.split('\n').filter((line) => !line.startsWith('curl '));
    expect(lines.join('\n')).not.toMatch(/gwk_\w{16}_/);
  });

  it('restarts a service that was killed, on the same ports', async () => {
    const { ports } = system.processOf('gatehouse-1');
    const killed = system.signal('gatehouse-1', 'SIGKILL');
    await system.waitForOutput(/gatehouse-1 exited with signal SIGKILL; restarting in 0\.5 s/);
    await system.waitForOutput(/gatehouse-1 runs again/);
    const again = system.processOf('gatehouse-1');
    expect(again.ports).toEqual(ports);
    expect(again.pid).not.toBe(killed);
    expect(await runCurlLine()).toMatchObject({ object: 'chat.completion' });
  });

  it('restarts PostgreSQL when that was killed, and the services recover by themselves', async () => {
    system.signal('postgres', 'SIGKILL');
    await system.waitForOutput(/postgres exited with signal SIGKILL; restarting/);
    await system.waitForOutput(/postgres runs again/);
    await eventually(async () => {
      const { status } = await get(`${first.url}/v1/agents`, first.user_key);
      if (status !== 200) throw new Error(`${status} for the agents:\n${system.output.slice(-4_000)}`);
    });
    expect(await runCurlLine()).toMatchObject({ object: 'chat.completion' });
  });

  it('refuses a second supervisor on the same state folder in one sentence', async () => {
    const second = new LocalSystem(folder, { PORT: String(await freePort()) });
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.output).toMatch(
      /^Gatehouse is already running on .* \(process \d+\); stop it, or set .*\n$/,
    );
    expect((await get(`${first.url}/v1/whoami`, first.user_key)).status).toBe(200);
  });

  it('has no process beside those that it lists', async () => {
    const pids = system.processes().map(({ pid }) => pid ?? 0);
    const parent = (await run('ps', ['-o', 'ppid=', '-p', String(pids[0])])).stdout.trim();
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', parent]);
    expect(stdout.trim().split(/\s+/).map(Number).toSorted()).toEqual(pids.toSorted());
  });

  it('stops everything on SIGTERM and ends without an error', async () => {
    const processes = system.processes();
    expect(processes.map(({ name }) => name)).toEqual(['postgres', 'simulator', 'gatehouse-1']);
    expect(survivors(processes)).toEqual(processes);
    expect(await system.stop('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(survivors(processes)).toEqual([]);
    expect(await serversIn(path.join(folder, 'postgres'))).toEqual([]);
    expect(system.output).toMatch(/^\{.*"msg":"stopping\b/m);
  });

  it('continues with the same keys, on another port and with more processes', async () => {
    const port = await freePort(2);
    const second = await restart({
      PORT: String(port),
      GATEHOUSE_REPLICAS: 'edge=2,analytics=2',
      DRAIN_TIMEOUT_MS: '1000',
    });
    expect(second).toEqual({ ...first, url: `http://127.0.0.1:${port}` });
    expect(await runCurlLine()).toMatchObject({ object: 'chat.completion' });
    expect((await get(`http://127.0.0.1:${port + 1}/v1/whoami`, first.user_key)).status).toBe(200);
    const names = system.processes().map(({ name }) => name);
    expect(names).toEqual([
      ...['postgres', 'simulator', 'tenant-1', 'agent-1', 'analytics-1', 'analytics-2', 'memory-1'],
      ...['chat-1', 'webhook-1', 'edge-1', 'edge-2'],
    ]);
  });

  it('keeps separate services to their own secrets', async () => {
    const { pid } = system.processOf('edge-1');
    const { stdout } = await run('cat', [`/proc/${pid ?? 0}/environ`]);
    expect(stdout).not.toContain('DATABASE_URL');
  });

  it('leaves no service behind when it is killed itself, and starts again on what it left', async () => {
    const services = system.processes().filter(({ name }) => name !== 'postgres');
    // One that is paused can't notice that its supervisor is gone.
    system.signal('edge-2', 'SIGSTOP');
    await system.stop('SIGKILL');
    const gone = services.filter(({ name }) => name !== 'edge-2');
    await eventually(() => expect(survivors(gone)).toEqual([]));
    await rm(path.join(folder, 'credentials.json'));
    const models = path.join(folder, 'models.yaml');
    await writeFile(models, otherCatalogue);
    const port = await freePort(2);
    const settings = { PORT: String(port), GATEHOUSE_REPLICAS: 'all=2' };
    const third = await restart({ ...settings, GATEHOUSE_MODELS: models });
    expect(third.url).toBe(`http://127.0.0.1:${port}`);
    expect(survivors(services)).toEqual([]);
    // The keys were lost with the file, the tenant was not.
    expect(third.tenant_id).toBe(first.tenant_id);
    expect(third.admin_key).not.toBe(first.admin_key);
    expect((await readdir(folder)).filter((file) => file.includes('draft'))).toEqual([]);
  });

  it('runs several processes with all services, whose limits and keys are those of one', async () => {
    const names = system.processes().map(({ name }) => name);
    expect(names).toEqual(['postgres', 'simulator', 'gatehouse-1', 'gatehouse-2']);
    const { url } = await system.credentials();
    const port = Number(new URL(url).port);
    expect((await get(`http://127.0.0.1:${port + 1}/v1/whoami`, first.user_key)).status).toBe(200);
  });

  it('gives the demo agent a model of the catalogue when its own has left it, and stops', async () => {
    const { url, user_key, agent_key } = await system.credentials();
    const agent = await get(`${url}/v1/agents/${agent_key}`, user_key);
    expect(agent.body).toMatchObject({ model: 'other-model' });
    expect(await runCurlLine()).toMatchObject({ object: 'chat.completion' });
    expect(await system.stop('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});

describe('make up, interrupted', () => {
  it('while it starts: stops what it has started and ends without an error', async () => {
    const { folder, remove } = await makeUsedStateFolder();
    const system = new LocalSystem(folder, { PORT: String(await freePort()) });
    await system.waitForOutput(/bundled simulator/);
    const processes = system.processes();
    expect(await system.stop('SIGINT')).toEqual({ code: 0, signal: null });
    expect(survivors(processes)).toEqual([]);
    expect(await serversIn(path.join(folder, 'postgres'))).toEqual([]);
    await remove();
  });
});

describe('make up refuses to start', () => {
  let folder: string;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    ({ folder, remove } = await makeStateFolder());
  });

  afterAll(() => remove());

  async function refusal(settings: Record<string, string>, state = folder): Promise<string> {
    const system = new LocalSystem(state, settings);
    expect(await system.exited).toEqual({ code: 1, signal: null });
    return system.output;
  }

  it('on a port in use, before anything is started', async () => {
    const server = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    try {
      expect(await refusal({ PORT: String(port) })).toBe(
        `Port ${port} is in use; set PORT to another one.\n`,
      );
      expect(await readdir(folder)).not.toContain('postgres');
    } finally {
      server.close();
    }
  });

  it('with a setting that is wrong', async () => {
    expect(await refusal({ PORT: 'http' })).toBe('PORT must be a number from 1 to 65535, not "http".\n');
    expect(await refusal({ GATEHOUSE_REPLICAS: 'door=2' })).toMatch(
      /^GATEHOUSE_REPLICAS names "door", .*\n$/,
    );
  });

  it('without the catalogue', async () => {
    const output = await refusal({ PORT: String(await freePort()), GATEHOUSE_MODELS: '/nowhere.yaml' });
    expect(output).toBe(
      "The model catalogue /nowhere.yaml can't be read; set GATEHOUSE_MODELS to another file.\n",
    );
  });

  it('with a catalogue that is wrong, and leaves no process', async () => {
    const used = await makeUsedStateFolder();
    const models = path.join(used.folder, 'models.yaml');
    await writeFile(models, 'providers: []\nmodels:\n  - id: small\n    provider: nobody\n');
    const settings = { PORT: String(await freePort()), GATEHOUSE_MODELS: models };
    const output = await refusal(settings, used.folder);
    const [first, ...problems] = output.trimEnd().split('\n');
    expect(first).toBe('The model catalogue is wrong:');
    expect(problems).toEqual([
      expect.stringContaining(`${models}:1: providers: `),
      `  ${models}:4: model small: there is no provider nobody`,
    ]);
    expect(await serversIn(path.join(used.folder, 'postgres'))).toEqual([]);
    await used.remove();
  });
});

describe('make up on the state folder of a version before 0.3.0', () => {
  let folder: string;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    ({ folder, remove } = await makeUsedStateFolder());
  }, startTimeoutMs);

  afterAll(() => remove());

  const schemas = services.filter(({ database }) => database).map(({ name }) => name);

  /** The rows of a statement for each schema, read while no system runs on the folder. */
  async function inEachSchema(sql: (schema: string) => string): Promise<object[][]> {
    const server = await startPostgres({
      dataDirectory: path.join(folder, 'postgres'),
      port: await freePort(),
    });
    try {
      return await Promise.all(schemas.map((schema) => query(server.adminUrl('gatehouse'), sql(schema))));
    } finally {
      await server.stop();
    }
  }

  it('says so, names the way out, and leaves the data as they are', async () => {
    await inEachSchema(
      (schema) => `update ${schema}.migrations set name = '0001_former' where name like '0001%'`,
    );
    const files = (): Promise<string[]> =>
      Promise.all(
        ['secrets.json', 'credentials.json'].map((file) => readFile(path.join(folder, file), 'utf8')),
      );
    const record = (schema: string): string => `select * from ${schema}.migrations order by id`;
    const tables = (schema: string): string =>
      `select relname, relacl::text, pg_relation_size(oid)::integer as size from pg_class
       where relnamespace = '${schema}'::regnamespace order by 1`;
    const before = [await inEachSchema(record), await inEachSchema(tables), await files()];
    const system = new LocalSystem(folder, { PORT: String(await freePort()) });
    expect(await system.exited).toEqual({ code: 1, signal: null });
    expect(system.output).toMatch(
      /^Migrating the database of tenant failed: the schema tenant was made by a version before 0\.3\.0, which version 0\.3\.0 can't upgrade; its data was left alone\. Use a new database: set GATEHOUSE_STATE to a new folder\.$/m,
    );
    expect([await inEachSchema(record), await inEachSchema(tables), await files()]).toEqual(before);
  });
});
