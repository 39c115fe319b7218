import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AgentServiceUnderTest } from './agent-service.ts';

let agents: AgentServiceUnderTest;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
});
afterAll(() => agents.stop());

const source = (file: string) => fileURLToPath(new URL(`../src/${file}`, import.meta.url));

function runToEnd(file: string, env: Record<string, string>): Promise<{ code: number; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [source(file)], { env }, (error, _stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stderr });
    });
  });
}

describe('the service as a process', () => {
  it('logs no prompt, ends on SIGTERM and leaves nothing behind', async () => {
    const child = spawn(process.execPath, [source('main.ts')], {
      env: { ...agents.environment(), LOG_LEVEL: 'trace' },
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
    const assertion = await agents.identity.assertion(agents.makeTenant().admin);
    const post = async (): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/agents`, {
        method: 'POST',
        headers: { 'x-gatehouse-assertion': assertion, 'content-type': 'application/json' },
        body: JSON.stringify({ key: 'logged', model: 'small', system_prompt: 'hush-hush' }),
      });
      return answer.status;
    };
    expect([await post(), await post()]).toEqual([201, 409]);
    await agents.chat.stop();
    expect(await post()).toBe(503);
    await agents.chat.restart();
    // The other tests make agents through the service in this process.
    await agents.untilModelsAreChecked();
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
    const text = lines.join('\n');
    expect(text).toContain('service_unavailable');
    expect(text).not.toContain('hush-hush');
    expect(text).not.toContain(assertion);
  });

  it('names every wrong setting at once and does not start', async () => {
    const { code, stderr } = await runToEnd('main.ts', { HTTP_PORT: 'eighty', DATABASE_URL: 'mysql://x' });
    expect(code).toBe(1);
    for (const name of ['HTTP_PORT', 'DATABASE_URL', 'CHAT_GRPC']) expect(stderr).toContain(name);
  });
});

describe('the migration command', () => {
  it('may run again, and leaves agents as they are', async () => {
    const { admin } = agents.makeTenant();
    await agents.makeAgent(admin, { key: 'kept' });
    const env = { ...agents.environment(), MIGRATION_DATABASE_URL: agents.database.adminUrl };
    expect(await runToEnd('migrate.ts', env)).toEqual({ code: 0, stderr: '' });
    expect(await agents.listKeys(admin)).toEqual(['kept']);
  });

  it.each(['MIGRATION_DATABASE_URL', 'DATABASE_URL'])(
    'prints nothing of a password that is not escaped in %s',
    async (name) => {
      const env = { ...agents.environment(), MIGRATION_DATABASE_URL: agents.database.adminUrl };
      const { code, stderr } = await runToEnd('migrate.ts', { ...env, [name]: 'postgres://o:pa/ss@h/db' });
      expect([code, stderr]).toEqual([1, expect.stringContaining(`  ${name}: is not a URL`)]);
      expect(stderr).not.toMatch(/pa\/|ss@/);
    },
  );

  it('fails without the URL of an owner', async () => {
    const { code, stderr } = await runToEnd('migrate.ts', agents.environment());
    expect(code).toBe(1);
    expect(stderr).toContain('MIGRATION_DATABASE_URL');
  });
});
