import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { importPrivateKey, importPublicKeys } from '@gatehouse/identity/keys';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { SecretsApi } from './secrets-api.ts';

const main = path.join(import.meta.dirname, '../src/main.ts');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-setup-'));
});
afterAll(async () => rm(folder, { recursive: true }));

let api: SecretsApi;
let environment: Record<string, string>;

beforeEach(async () => {
  api = new SecretsApi();
  const TOKEN_FILE = path.join(folder, 'token');
  await writeFile(TOKEN_FILE, `${api.token}\n`);
  environment = {
    KUBERNETES_API: await api.start(),
    TOKEN_FILE,
    NAMESPACE: 'gw',
    SECRET_NAME: 'gatehouse-secrets',
    SERVICES: 'tenant,chat,edge',
    DATABASE_SERVICES: 'tenant,chat',
    MIGRATION_DATABASE_URL: 'postgres://owner:owners-password@db.example:5433/gatehouse?sslmode=require',
  };
});
afterEach(async () => api.stop());

interface Ended {
  code: number;
  output: string;
}

function setup(command: string, overrides: Record<string, string> = {}): Promise<Ended> {
  const env = { ...environment, ...overrides };
  return new Promise((resolve) => {
    execFile(process.execPath, [main, command], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

function stored(): Record<string, string> {
  const entries = api.entries('gw', 'gatehouse-secrets');
  if (entries === null) throw new Error('there is no secret');
  return entries;
}

describe('the secrets step', () => {
  it('makes what the services need, and prints none of it', async () => {
    const { code, output } = await setup('secrets');
    expect(code).toBe(0);
    const made = stored();
    expect(Object.keys(made).sort()).toEqual([
      'ASSERTION_PRIVATE_KEY_CHAT',
      'ASSERTION_PRIVATE_KEY_EDGE',
      'ASSERTION_PRIVATE_KEY_TENANT',
      'ASSERTION_PUBLIC_KEYS',
      'DATABASE_URL_CHAT',
      'DATABASE_URL_TENANT',
      'SECRETS_KEYRING',
    ]);
    expect((await importPrivateKey(made['ASSERTION_PRIVATE_KEY_CHAT'] ?? '')).service).toBe('chat');
    expect([...(await importPublicKeys(made['ASSERTION_PUBLIC_KEYS'] ?? '')).keys()]).toEqual([
      'tenant.1',
      'chat.1',
      'edge.1',
    ]);
    expect(() => KeyRing.parse(made['SECRETS_KEYRING'] ?? '')).not.toThrow();
    const { username, password, host, pathname, search } = new URL(made['DATABASE_URL_CHAT'] ?? '');
    expect({ username, host, pathname, search }).toEqual({
      username: 'chat_login',
      host: 'db.example:5433',
      pathname: '/gatehouse',
      search: '?sslmode=require',
    });
    expect(password).toHaveLength(32);
    for (const value of [...Object.values(made), password, 'owners-password'])
      expect(output).not.toContain(value);
  });

  it('changes nothing that is there, and adds what a new service needs', async () => {
    await setup('secrets');
    const first = stored();
    expect((await setup('secrets')).output).toContain('no entries were missing');
    expect(stored()).toEqual(first);
    const more = { SERVICES: 'tenant,chat,edge,memory', DATABASE_SERVICES: 'tenant,chat,memory' };
    expect((await setup('secrets', more)).code).toBe(0);
    const { ASSERTION_PUBLIC_KEYS: before, ...others } = first;
    const { ASSERTION_PUBLIC_KEYS: after, ...rest } = stored();
    expect(rest).toMatchObject(others);
    expect(Object.keys(rest)).toEqual(
      expect.arrayContaining(['ASSERTION_PRIVATE_KEY_MEMORY', 'DATABASE_URL_MEMORY']),
    );
    const known = await importPublicKeys(after ?? '');
    expect([...known.keys()]).toEqual([...(await importPublicKeys(before ?? '')).keys(), 'memory.1']);
  });

  it('makes one set when two run at the same moment', async () => {
    api.meeting = 2;
    const both = await Promise.all([setup('secrets'), setup('secrets')]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    const outputs = both.map(({ output }) => output).join('');
    expect(outputs.match(/no entries were missing/g)).toHaveLength(1);
    expect(outputs.match(/added missing entries/g)).toHaveLength(1);
    const keys = await importPublicKeys(stored()['ASSERTION_PUBLIC_KEYS'] ?? '');
    expect([...keys.keys()]).toEqual(['tenant.1', 'chat.1', 'edge.1']);
  });

  it.each([401, 403, 500])('fails with the reason when the API answers %d', async (status) => {
    api.failure = status;
    const { code, output } = await setup('secrets');
    expect([
      code,
      output.includes(`failed to read the secret: the Kubernetes API returned ${status}`),
    ]).toEqual([1, true]);
  });

  it("reports why the API can't be reached, and no setting", async () => {
    const { code, output } = await setup('secrets', { KUBERNETES_API: 'http://127.0.0.1:1' });
    expect([code, output]).toEqual([1, expect.stringMatching(/fetch failed[^]*Caused by: .*bad port/)]);
    expect(output).not.toContain('owners-password');
  });

  it('prints nothing of a password that is not escaped', async () => {
    const { code, output } = await setup('secrets', {
      MIGRATION_DATABASE_URL: 'postgres://owner:pa/ss@h/db',
    });
    expect([code, output]).toEqual([1, expect.stringContaining('MIGRATION_DATABASE_URL: is not a URL')]);
    expect(output).not.toMatch(/pa\/|ss@/);
  });

  it('says what is missing in its settings', async () => {
    const { code, output } = await setup('secrets', { SECRET_NAME: '', MIGRATION_DATABASE_URL: 'mysql://x' });
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/SECRET_NAME:.*\n.*MIGRATION_DATABASE_URL: must be a postgres:\/\/ URL/),
    ]);
    expect(await setup('secret')).toEqual({
      code: 1,
      output: 'The commands are secrets and remove-secrets.\n',
    });
  });
});

describe('the removal', () => {
  it('deletes the secret, and is content when it is gone', async () => {
    await setup('secrets');
    for (let times = 0; times < 2; times += 1) expect((await setup('remove-secrets')).code).toBe(0);
    expect(api.entries('gw', 'gatehouse-secrets')).toBeNull();
  });

  it('fails where it may not delete the Secret', async () => {
    api.failure = 403;
    expect((await setup('remove-secrets')).code).toBe(1);
  });
});
