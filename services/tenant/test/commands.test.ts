import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { scopesOf } from '@gatehouse/contract/scopes';
import { TenantServiceUnderTest } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
});
afterAll(() => tenants.stop());

const source = (file: string) => fileURLToPath(new URL(`../src/${file}`, import.meta.url));

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

function bootstrap(args: string[] = [], databaseUrl = tenants.database.url): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { env: { DATABASE_URL: databaseUrl } };
    execFile(process.execPath, [source('bootstrap.ts'), ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe('the bootstrap command', () => {
  beforeEach(() => tenants.rows(`delete from tenant.api_keys where role = 'owner'`));

  it('makes the first owner key and prints its text as the only line', async () => {
    const { code, stdout } = await bootstrap();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^gwk_[0-9A-Za-z]{16}_[0-9A-Za-z_-]{43}\n$/);
    expect(await tenants.authenticate(stdout.trim())).toMatchObject({
      result: { $case: 'key', value: { role: 'owner', scopes: scopesOf('owner') } },
    });
    const [row] = await tenants.rows(`select created_by from tenant.api_keys where role = 'owner'`);
    expect(row).toEqual({ created_by: 'bootstrap' });
  });

  it('refuses in a sentence when there is an active one, unless forced', async () => {
    await bootstrap();
    const refused = await bootstrap();
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^An active owner key exists already[^\n]*\n$/);
    expect(await bootstrap(['--force'])).toMatchObject({ code: 0 });
    await tenants.rows(`update tenant.api_keys set revoked_at = now() where role = 'owner'`);
    expect(await bootstrap()).toMatchObject({ code: 0 });
  });

  it('makes one key when two run at once', async () => {
    const outcomes = await Promise.all([bootstrap(), bootstrap(), bootstrap()]);
    expect(outcomes.map((outcome) => outcome.code).sort()).toEqual([0, 1, 1]);
  });

  it('says what is wrong and fails without settings, a database or a known option', async () => {
    const unreachable = await bootstrap([], 'postgres://nobody@127.0.0.1:1/none');
    expect(unreachable).toMatchObject({ code: 1, stdout: '' });
    expect(unreachable.stderr).toMatch(/^The database is unavailable[^\n]*\n$/);
    const unset = await bootstrap([], '');
    expect(unset.code).toBe(1);
    expect(unset.stderr).toContain('DATABASE_URL');
    expect(await bootstrap(['--forced'])).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('the service as a process', () => {
  it('logs no secret, ends on SIGTERM and leaves nothing behind', async () => {
    const child = spawn(process.execPath, [source('main.ts')], {
      env: { ...tenants.environment(), LOG_LEVEL: 'trace' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    const port = await new Promise<number>((resolve, reject) => {
      child.once('exit', () => reject(new Error(`ended too early: ${lines.join('\n')}`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        lines.push(line);
        const entry = JSON.parse(line) as { msg?: string; http_port?: number };
        if (entry.msg === 'listening') resolve(entry.http_port ?? 0);
      });
    });
    const assertion = await tenants.identity.assertion({ role: 'owner' });
    const post = async (slug: string): Promise<Record<string, string>> => {
      const answer = await fetch(`http://127.0.0.1:${port}/internal/v1/owner/tenants`, {
        method: 'POST',
        headers: { 'x-gatehouse-assertion': assertion, 'content-type': 'application/json' },
        body: JSON.stringify({ slug, name: 'Logged' }),
      });
      return (await answer.json()) as Record<string, string>;
    };
    const { admin_key: adminKey = '' } = await post('logged');
    expect(adminKey).toMatch(/^gwk_/);
    await post('logged');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    const text = lines.join('\n');
    expect(text).toContain('"service":"tenant"');
    expect(text).not.toContain(adminKey.slice(-43));
    expect(text).not.toContain(assertion);
  });

  it('names every wrong setting at once and does not start', async () => {
    const child = spawn(process.execPath, [source('main.ts')], {
      env: { HTTP_PORT: 'eighty', DATABASE_URL: 'mysql://x' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    expect(await once(child, 'close')).toEqual([1, null]);
    for (const name of ['HTTP_PORT', 'DATABASE_URL', 'ASSERTION_PUBLIC_KEYS']) expect(stderr).toContain(name);
  });
});
