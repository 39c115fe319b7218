import { readFile, stat, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { CommandLine, type Ran, type RunSettings } from '@gatehouse/test/command-line';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { Answer, SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
let tenant: TenantAccess;
let commandLine: CommandLine;
beforeAll(async () => {
  gateway = await openGateway({ edges: 2 });
  tenant = await gateway.makeTenant();
});
afterAll(() => gateway.stop());
beforeEach(async () => {
  commandLine = await CommandLine.make();
});
afterEach(() => commandLine.remove());

const loginTimeoutMs = 30_000;
const form = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' };

/** The cookie of a browser that has logged in with a key. */
async function logIn(key: string): Promise<string> {
  const headers = { 'sec-fetch-site': 'same-origin' };
  const answer = await gateway.call('/login/key', { body: { key }, headers });
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

/** Opens the printed page in a browser, and presses a button of it. */
async function decide(page: string, cookie: string, decision: string): Promise<Answer> {
  const { pathname, search } = new URL(page);
  const shown = await gateway.call(pathname + search, { headers: { cookie }, edge: 1 });
  const hidden = String(shown.body).matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  const fields = new URLSearchParams({ decision });
  for (const [, name = '', value = ''] of hidden) fields.set(name, value);
  return gateway.call('/device', { headers: { cookie, ...form }, body: fields.toString(), edge: 1 });
}

/** Runs `login`, and decides on its code in a browser once it is printed. */
async function login(cookie: string, decision: string, settings: RunSettings = {}): Promise<Ran> {
  let decided: Promise<Answer> | undefined;
  const onWrite = (out: string): void => {
    const [, page] = /^Open (\S+)$/m.exec(out) ?? [];
    if (page !== undefined) decided ??= decide(page, cookie, decision);
  };
  const ran = await commandLine.run(['login', '--url', gateway.url, '--open'], { onWrite, ...settings });
  expect((await decided)?.status).toBe(200);
  return ran;
}

interface Kept {
  key: string;
  device: { from: string; until: string };
}

const profile = async (): Promise<Kept> =>
  (JSON.parse(await readFile(commandLine.profiles, 'utf8')) as { profiles: { default: Kept } }).profiles
    .default;

/** Makes the key of the profile look as if this part of its lifetime had passed. */
async function age(part: number): Promise<void> {
  const file = JSON.parse(await readFile(commandLine.profiles, 'utf8')) as { profiles: { default: Kept } };
  const { device } = file.profiles.default;
  const [now, lifetimeMs] = [Date.now(), Date.parse(device.until) - Date.parse(device.from)];
  device.from = new Date(now - part * lifetimeMs).toISOString();
  device.until = new Date(now + (1 - part) * lifetimeMs).toISOString();
  await writeFile(commandLine.profiles, JSON.stringify(file), { mode: 0o600 });
}

it(
  'a person confirms a key for the command line, which renews and revokes it',
  async () => {
    const made = await gateway.call('/v1/api-keys', {
      key: tenant.adminKey,
      body: { name: 'Ada', role: 'user', user_id: 'ada' },
    });
    const opened: string[] = [];
    const ran = await login(await logIn((made.body as { key: string }).key), 'allow', {
      open: (url) => void opened.push(url),
    });
    expect([ran.code, ran.error]).toEqual([0, '']);
    expect(ran.out).toMatch(
      /^Open \S+\/device\?user_code=.*\nand allow the code .{9}\..*\nLogged in to .*user/,
    );
    expect(ran.out).toContain(`Open ${opened[0]}\n`);
    const { key } = await profile();
    expect(ran.out).not.toContain(key);
    expect((await stat(commandLine.profiles)).mode & 0o777).toBe(0o600);
    const who = await commandLine.run(['whoami', '--json']);
    expect(JSON.parse(who.out)).toMatchObject({ role: 'user', user_id: 'ada' });
    // It would outlive itself by a key that it makes.
    const sibling = await gateway.call('/v1/me/api-keys', { key, body: { name: 'For 90 days' } });
    expect([sibling.status, sibling.body]).toMatchObject([403, { error: { code: 'role_missing' } }]);
    expect((await gateway.call('/v1/me/api-keys', { key })).status).toBe(200);

    expect(await commandLine.run(['login', '--refresh'])).toEqual({ code: 0, out: '', error: '' });
    expect(await commandLine.run(['key'])).toEqual({ code: 0, out: `${key}\n`, error: '' });
    await age(0.7);
    const both = await Promise.all([1, 2].map(() => commandLine.run(['login', '--refresh'])));
    expect(both).toEqual([1, 2].map(() => ({ code: 0, out: '', error: '' })));
    const { key: renewed } = await profile();
    expect(renewed).not.toBe(key);
    expect((await commandLine.run(['key'])).out).toBe(`${renewed}\n`);
    expect((await gateway.call('/v1/whoami', { key: renewed, edge: 1 })).status).toBe(200);

    const out = await commandLine.run(['logout', '--json']);
    expect(JSON.parse(out.out)).toEqual({ profile: 'default', removed: true, revoked: true });
    await eventually(async () =>
      expect((await gateway.call('/v1/whoami', { key: renewed })).status).toBe(401),
    );
    expect((await commandLine.run(['key'])).code).toBe(2);
  },
  loginTimeoutMs,
);

it(
  'a key that can’t be renewed is printed until it expires',
  async () => {
    await login(await logIn(tenant.userKey), 'allow');
    const { key } = await profile();
    await gateway.call('/login/revoke', { body: { token: key } });
    await age(0.9);
    expect(await commandLine.run(['key'])).toMatchObject({ code: 0, out: `${key}\n` });
    const refused = await commandLine.run(['login', '--refresh']);
    expect([refused.code, refused.error]).toEqual([1, expect.stringContaining('invalid_grant')]);
    await age(1);
    expect(await commandLine.run(['key'])).toMatchObject({ code: 1, out: '' });
  },
  loginTimeoutMs,
);

it(
  'a person denies it',
  async () => {
    const ran = await login(await logIn(tenant.userKey), 'deny');
    expect([ran.code, ran.error]).toEqual([1, expect.stringContaining('access_denied')]);
    expect((await commandLine.run(['whoami'])).code).toBe(2);
  },
  loginTimeoutMs,
);

it('a person gives up, and keys that were given are neither renewed nor revoked', async () => {
  const interrupt = new AbortController();
  const { signal } = interrupt;
  const onWrite = (): void => interrupt.abort();
  expect((await commandLine.run(['login', '--url', gateway.url], { signal, onWrite })).code).toBe(130);
  await commandLine.run(['login', '--url', gateway.url, '--key', tenant.userKey]);
  expect((await commandLine.run(['login', '--refresh'])).code).toBe(2);
  expect((await commandLine.run(['key'])).out).toBe(`${tenant.userKey}\n`);
  const out = await commandLine.run(['logout', '--json']);
  expect(JSON.parse(out.out)).toMatchObject({ removed: true, revoked: false });
  expect((await gateway.call('/v1/whoami', { key: tenant.userKey })).status).toBe(200);
});

it('a program starts with a form, at any edge, and the relay sends no cookie on', async () => {
  const headers = { 'content-type': form['content-type'] };
  const started = await gateway.call('/login/device', { headers, body: 'client_id=other', edge: 1 });
  expect([started.status, started.body]).toMatchObject([200, { interval: 5 }]);
  const { user_code: code } = started.body as { user_code: string };
  const cookie = await logIn(tenant.userKey);
  const direct = await gateway.call(`/device?user_code=${code}`, { headers: { cookie } });
  expect(direct.body).toContain('value="allow"');
  const relayed = await gateway.call(`/api-docs/proxy/device?user_code=${code}`, { headers: { cookie } });
  expect(relayed.body).not.toContain('value="allow"');
  const wrong = await gateway.call('/login/device', { body: { client_id: 1 } });
  expect(wrong).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
});
