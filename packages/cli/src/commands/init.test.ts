import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { services } from '@gatehouse/contract/services';
import { importPrivateKey, importPublicKeys } from '@gatehouse/identity/keys';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { CommandLine } from '@gatehouse/test/command-line';
import { parse } from 'yaml';

let folder: string;
let commandLine: CommandLine;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-init-'));
  commandLine = await CommandLine.make();
});
afterEach(async () => {
  await Promise.all([rm(folder, { recursive: true }), commandLine.remove()]);
});

const envFile = (): string => path.join(folder, 'gatehouse.env');
const modelsFile = (): string => path.join(folder, 'config/models.yaml');
const settings = async (): Promise<NodeJS.Dict<string>> => parseEnv(await readFile(envFile(), 'utf8'));

it('writes every secret into a file of its owner, and says how to go on', async () => {
  const { code, out, error } = await commandLine.run(['init', folder, '--port', '8181']);
  expect([code, error]).toEqual([0, '']);
  expect(out).toContain(`docker compose --env-file ${envFile()} up`);
  expect((await stat(envFile())).mode & 0o777).toBe(0o600);
  // The user of a container reads the folder with the catalogue, and not the one around it.
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect(await readdir(path.join(folder, 'config'))).toEqual(['models.yaml']);
  expect((await stat(path.join(folder, 'config'))).mode & 0o777).toBe(0o755);
  expect((await stat(modelsFile())).mode & 0o777).toBe(0o644);

  const env = await settings();
  expect(env).toMatchObject({ PUBLIC_URL: 'http://localhost:8181', HTTP_PORT: '8181', OPENAI_API_KEY: '' });
  const known = await importPublicKeys(env['ASSERTION_PUBLIC_KEYS'] ?? '');
  for (const { name, database } of services) {
    const { kid } = await importPrivateKey(env[`ASSERTION_PRIVATE_KEY_${name.toUpperCase()}`] ?? '');
    expect(known.has(kid)).toBe(true);
    const url = env[`DATABASE_URL_${name.toUpperCase()}`];
    if (database)
      expect(url).toMatch(new RegExp(`^postgres://${name}_login:[\\w-]{32}@postgres:5432/gatehouse$`));
    else expect(url).toBeUndefined();
  }
  expect(() => KeyRing.parse(env['SECRETS_KEYRING'] ?? '')).not.toThrow();
  expect(env['MIGRATION_DATABASE_URL']).toBe(
    `postgres://gatehouse:${env['POSTGRES_PASSWORD'] ?? ''}@postgres:5432/gatehouse`,
  );
  const secrets = Object.values(env).filter((value) => (value?.length ?? 0) > 30);
  for (const secret of secrets) expect(out).not.toContain(secret);
});

it('writes a catalogue with patterns for the models of three providers', async () => {
  await commandLine.run(['init', folder]);
  const { models } = parse(await readFile(modelsFile(), 'utf8')) as {
    models: { id: string; price?: unknown }[];
  };
  expect(models.map(({ id }) => id)).toEqual([
    'gpt-*',
    'o*',
    'claude-*',
    'gemini-*',
    'text-embedding-*',
    'omni-moderation-*',
  ]);
  expect(models.filter(({ price }) => price !== undefined)).toEqual([]);
});

it('leaves files alone that are there, and renames them with --force', async () => {
  await commandLine.run(['init', folder]);
  const before = await readFile(envFile(), 'utf8');
  const refused = await commandLine.run(['init', folder]);
  expect([refused.code, refused.error]).toEqual([2, expect.stringContaining('nothing was written')]);
  expect(await readFile(envFile(), 'utf8')).toBe(before);

  await rm(modelsFile());
  expect((await commandLine.run(['init', folder])).error).toContain(`${envFile()} exists already`);
  expect(await readdir(folder, { recursive: true })).toEqual(
    expect.not.arrayContaining(['config/models.yaml']),
  );

  expect((await commandLine.run(['init', folder, '--force'])).code).toBe(0);
  const [config, current, renamed = '', ...others] = (await readdir(folder)).toSorted();
  expect([config, current, others]).toEqual(['config', 'gatehouse.env', []]);
  expect(await readdir(path.join(folder, 'config'))).toEqual(['models.yaml']);
  expect(await readFile(path.join(folder, renamed), 'utf8')).toBe(before);
  expect(await readFile(envFile(), 'utf8')).not.toBe(before);
});

it('takes the PostgreSQL of MIGRATION_DATABASE_URL, whatever its password', async () => {
  const url = `postgres://boss:a$b'c%20"d@db.example:5433/ai?sslmode=require`;
  const { out } = await commandLine.run(['init', folder], { environment: { MIGRATION_DATABASE_URL: url } });
  const env = await settings();
  const owner = new URL(env['MIGRATION_DATABASE_URL'] ?? '');
  expect([owner.username, decodeURIComponent(owner.password)]).toEqual(['boss', `a$b'c "d`]);
  expect(env['DATABASE_URL_CHAT']).toMatch(
    /^postgres:\/\/chat_login:[\w-]{32}@db\.example:5433\/ai\?sslmode=require$/,
  );
  expect(env['POSTGRES_PASSWORD']).toBeUndefined();
  expect(out).toContain('systemctl enable --now gatehouse');
  // A line that every reader takes alike: a word without quotes, or text without quotes in single ones.
  for (const line of (await readFile(envFile(), 'utf8')).split('\n'))
    expect(line).toMatch(/^(#.*|[A-Z_]+=([\w.:/@+=%-]*|'[^']*'))?$/);
});

it.each([
  [['--public-url', 'http://gateway.example.com'], {}, 'https'],
  [['--port', '0'], {}, '65535'],
  [[], { MIGRATION_DATABASE_URL: 'mysql://root:secret@db' }, 'postgres://'],
])('refuses %j and writes nothing', async (options, environment, words) => {
  const { code, error } = await commandLine.run(['init', folder, ...options], { environment });
  expect([code, error]).toEqual([2, expect.stringContaining(words)]);
  expect(error).not.toContain('secret');
  expect(await readdir(folder)).toEqual([]);
});
