import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { freePort } from '@gatehouse/local/ports';
import { startPostgres, type Postgres } from '@gatehouse/local/postgres';
import { CommandLine } from '@gatehouse/test/command-line';
import { readComposeFile, type ComposeFile } from '@gatehouse/test/compose-file';
import { dataFolder } from '@gatehouse/test/data-folder';
import { eventually } from '@gatehouse/test/eventually';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { query } from '@gatehouse/test/query';
import { makeTenant } from '@gatehouse/test/tenants';
import { parse } from 'yaml';
import { loadKnownPrices } from '../../services/chat/src/catalogue/known-prices.ts';

/** The installation of `gatehouse init` and compose.yaml, each container as a process with the environment it would have. */

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '../..');
const composed = path.join(root, 'deploy/composed');

let folder: string;
let commandLine: CommandLine;
let postgres: Postgres;
let simulator: ProviderSimulator;
let gateway: ChildProcess | undefined;
let compose: ComposeFile;
let httpPort: number;
let adminPort: number;
let url: string;
let log = '';

/** The environment of a container, with addresses of this machine in place of those of its networks and mounts. */
function environmentOf(name: string): Record<string, string> {
  const { environment = {}, volumes = [] } = compose.services[name] ?? {};
  const mounts = volumes.flatMap((volume) => (typeof volume === 'string' ? [] : [volume]));
  const entries = Object.entries(environment).map(([variable, value]) => {
    const mount = mounts.find(({ target }) => value?.startsWith(`${target}/`));
    const here = mount === undefined ? value : value?.replace(mount.target, path.join(folder, mount.source));
    return [variable, here?.replace('@postgres:5432/', `@127.0.0.1:${postgres.port}/`) ?? ''] as const;
  });
  const ports = { HOST: '127.0.0.1', HTTP_PORT: String(httpPort), ADMIN_PORT: String(adminPort) };
  return {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'production',
    ...Object.fromEntries(entries),
    ...ports,
  };
}

beforeAll(async () => {
  [folder, commandLine, simulator] = await Promise.all([
    mkdtemp(path.join(dataFolder(), 'gatehouse-one-machine-')),
    CommandLine.make(),
    startProviderSimulator({ apiKey: 'provider-key' }),
  ]);
  // When run as root, PostgreSQL runs as another OS user.
  await chmod(folder, 0o711);
  [httpPort, adminPort] = [await freePort(), await freePort()];
  url = `http://127.0.0.1:${httpPort}`;
  const { code } = await commandLine.run(['init', folder, '--port', String(httpPort)]);
  expect(code).toBe(0);
  const written = parseEnv(await readFile(path.join(folder, 'gatehouse.env'), 'utf8'));
  compose = readComposeFile({
    ...written,
    ...{ OPENAI_API_KEY: 'provider-key', OPENAI_BASE_URL: `${simulator.url}/v1` },
    ...{ ANTHROPIC_API_KEY: 'provider-key', ANTHROPIC_BASE_URL: simulator.url },
    // Without the key of Gemini, which the simulator then refuses.
    GOOGLE_GEMINI_BASE_URL: simulator.url,
  });
  postgres = await startPostgres({
    dataDirectory: path.join(folder, 'postgres'),
    port: await freePort(),
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  });
  const {
    POSTGRES_USER: owner,
    POSTGRES_PASSWORD: password,
    POSTGRES_DB: database,
  } = compose.services['postgres']?.environment ?? {};
  // As the image of PostgreSQL does.
  await query(postgres.adminUrl('postgres'), `create role ${owner} superuser login password '${password}'`);
  await query(postgres.adminUrl('postgres'), `create database ${database} owner ${owner}`);
});

afterAll(async () => {
  if (gateway?.exitCode === null) {
    gateway.kill('SIGTERM');
    await once(gateway, 'exit');
  }
  await postgres.stop();
  await Promise.all([simulator.close(), commandLine.remove()]);
  await rm(folder, { recursive: true });
});

const node = (script: string, env: Record<string, string>): Promise<{ stdout: string }> =>
  run(process.execPath, [script], { cwd: composed, env });

/** The script of a container's command, which the image has as JavaScript. */
function scriptOf(name: string): string {
  const [script = 'src/main.js'] = compose.services[name]?.command ?? [];
  return script.replace(/\.js$/, '.ts');
}

async function ask(key: string, model: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello.' }] }),
  });
  return { status: response.status, body: await response.json() };
}

it('migrates every schema in its own step, twice without harm', async () => {
  for (const _ of [1, 2]) {
    const { stdout } = await node(scriptOf('migrate'), environmentOf('migrate'));
    expect(stdout.split('\n').toSorted()).toEqual([
      '',
      ...['agent', 'analytics', 'chat', 'memory', 'tenant', 'webhook'].map((name) => `migrated ${name}`),
    ]);
  }
});

it('is ready without the owner of the database, and answers the first requests', async () => {
  const env = environmentOf('gateway');
  expect(Object.keys(env).filter((name) => /^(POSTGRES|MIGRATION)_/.test(name))).toEqual([]);
  gateway = spawn(process.execPath, [scriptOf('gateway')], { cwd: composed, env, stdio: 'pipe' });
  for (const stream of [gateway.stdout, gateway.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (log += text));
  const [, ...check] = compose.services['gateway']?.healthcheck?.test ?? [];
  const [program, ...words] = check.map((word) => word.replace(':9090/', `:${adminPort}/`));
  expect(program).toBe('node');
  await eventually(async () => {
    if (gateway?.exitCode !== null) throw new Error(`the gateway has ended:\n${log}`);
    await run(process.execPath, words);
  });

  const { stdout: ownerKey } = await node('../../services/tenant/src/bootstrap.ts', {
    ...env,
    DATABASE_URL: env['DATABASE_URL_TENANT'] ?? '',
  });
  const system = await fetch(`${url}/internal/v1/owner/system`, {
    headers: { authorization: `Bearer ${ownerKey.trim()}` },
  });
  const { data: states } = (await system.json()) as { data: { status: string; replicas: number }[] };
  expect(states.map(({ status, replicas }) => [status, replicas])).toEqual(states.map(() => ['up', 1]));
  expect(states).toHaveLength(6);
  const tenant = await makeTenant({ url, ownerKey: ownerKey.trim() });
  for (const model of ['gpt-4.1-mini', 'o4-mini', 'claude-sonnet-5-5'])
    expect(await ask(tenant.userKey, model)).toMatchObject({ status: 200, body: { model } });

  expect(await ask(tenant.userKey, 'gemini-3.8-flash')).toMatchObject({
    status: 502,
    body: {
      error: {
        code: 'provider_authentication',
        message: expect.stringContaining('GEMINI_API_KEY') as unknown,
      },
    },
  });
});

it('every name that the catalogue lists has a public price', async () => {
  const text = await readFile(path.join(folder, 'config/models.yaml'), 'utf8');
  const { providers, models } = parse(text) as {
    providers: { name: string; base_url: string }[];
    models: { id: string; provider: string; list: string[] }[];
  };
  const prices = await loadKnownPrices();
  const unpriced = models.flatMap(({ provider, list }) => {
    const address = providers.find(({ name }) => name === provider)?.base_url ?? '';
    const baseUrl = /:-(.*)\}$/.exec(address)?.[1] ?? '';
    // Moderations cost nothing without a price.
    const priced = list.filter((name) => !name.startsWith('omni-moderation'));
    return priced.filter((name) => prices.find(baseUrl, name, new Date()) === null);
  });
  expect(unpriced).toEqual([]);
});
