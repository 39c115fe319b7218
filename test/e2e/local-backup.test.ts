import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { freePort } from '@gatehouse/local/ports';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { LocalSystem, makeStateFolder, type StateFolder } from '@gatehouse/test/local-system';
import { makeUsedStateFolder } from '@gatehouse/test/used-state';

/** `make login`, `make backup` and `make restore` beside the whole system; `deploy/local/backup.test.ts` has the database alone. */

const run = promisify(execFile);
const local = path.join(import.meta.dirname, '../../deploy/local');
const startTimeoutMs = 300_000;

let first: StateFolder;
let other: StateFolder;
let system: LocalSystem;
let credentials: LocalCredentials;

const make = (command: string, stateFolder: string, settings: Record<string, string> = {}): Promise<string> =>
  run(process.execPath, [path.join(local, `${command}.ts`)], {
    env: { ...process.env, ...settings, GATEHOUSE_STATE: stateFolder },
  }).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error as { stderr: string }).stderr,
  );

async function call(route: string, key: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${credentials.url}${route}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

async function start(folder: string): Promise<void> {
  system = new LocalSystem(folder, { PORT: String(await freePort()) });
  credentials = await system.ready();
}

beforeAll(async () => {
  first = await makeUsedStateFolder();
  other = await makeStateFolder();
  await start(first.folder);
}, startTimeoutMs);
afterAll(async () => {
  await system.stop();
  await Promise.all([first, other].map(({ remove }) => remove()));
}, startTimeoutMs);

it('`make login` prints a fresh link for the running system', async () => {
  const printed = await make('login', first.folder);
  const [, link = ''] = /^log in, once and within a minute: (\S+)\n$/.exec(printed) ?? [];
  const ticket = new URL(link).searchParams.get('ticket') ?? '';
  const pressed = await fetch(`${credentials.url}/login/link`, {
    ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams({ ticket }) },
    headers: { 'sec-fetch-site': 'same-origin' },
  });
  expect([pressed.status, pressed.headers.get('set-cookie')]).toEqual([
    303,
    expect.stringContaining('gatehouse='),
  ]);
});

it('says that nothing runs on another folder', async () => {
  const { folder } = other;
  expect(await make('login', folder)).toMatch(/^Gatehouse is not running on \S+: start it with "make up"/);
});

it(
  'restores what a running system had into a new folder, with its keys',
  async () => {
    const { admin_key: admin, owner_key: owner } = credentials;
    const agent = { key: 'kept', name: 'Kept', model: 'gpt-4.1-mini' };
    expect((await call('/v1/agents', admin, agent)).status).toBe(201);
    const file = path.join(first.folder, 'backup.tar.gz');
    expect(await make('backup', first.folder, { FILE: file })).toContain(`${file}: `);
    await system.stop();

    const { folder } = other;
    expect(await make('restore', folder, { FILE: file })).toContain(`restored ${folder}`);
    await start(folder);
    expect([credentials.admin_key, credentials.owner_key]).toEqual([admin, owner]);
    expect(await call('/v1/agents/kept', admin)).toMatchObject({ status: 200, body: { name: 'Kept' } });
    expect(await ask(credentials.user_key)).toBe(200);
  },
  startTimeoutMs,
);

async function ask(key: string): Promise<number> {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  return (await call('/v1/chat/completions', key, { model: 'gpt-4.1-mini', messages })).status;
}
