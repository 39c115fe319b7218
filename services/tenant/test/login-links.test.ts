import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { createPool } from '@gatehouse/pg/pool';
import { upToLimit } from '@gatehouse/test/minute';
import {
  findKeyOfLink,
  insertLoginTicket,
  oldLoginTickets,
} from '../src/sessions/login-ticket-system-store.ts';
import { Browser, type Sent, type Shown } from './browser.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

const run = promisify(execFile);
const command = fileURLToPath(new URL('../src/login-link.ts', import.meta.url));

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start({ settings: { PUBLIC_URL: 'https://gateway.example.com' } });
  tenant = await tenants.makeTenant();
});
afterAll(() => tenants.stop());

const browse = (path: string, sent?: Sent): Promise<Shown> => new Browser(tenants).browse(path, sent);

/** The path that the command prints for a key. */
async function linkFor(key: string): Promise<string> {
  const env = { PATH: process.env['PATH'], DATABASE_URL: tenants.database.url };
  const { stdout } = await run(process.execPath, [command, key.slice(0, 20)], { env });
  expect(stdout).toMatch(/^\/login\/link\?ticket=[\w-]{43}\n$/);
  return stdout.trim();
}

const ticketIn = (link: string): string => link.slice(link.indexOf('=') + 1);
const press = (link: string, sent: Sent = {}): Promise<Shown> =>
  browse('/login/link', { form: { ticket: ticketIn(link) }, ...sent });

it('logs in once, however often the link was opened, and for one of two at once', async () => {
  const { key } = await tenants.makeKey(tenant.admin, { name: 'Ada' });
  const link = await linkFor(key);
  for (const _ of [1, 2]) {
    const page = await browse(link, { method: 'GET', headers: {} });
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('<button type="submit"')]);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  }
  const stored = JSON.stringify(await tenants.rows('select * from tenant.login_tickets'));
  expect(stored).not.toContain(ticketIn(link));
  // The operator's entry is the owner's alone, and the session says how it was opened.
  const log = await tenants.call('GET', '/internal/v1/owner/audit-log?action=login_link.created');
  const [entry] = log.body.data as unknown as Record<string, unknown>[];
  expect(entry).toMatchObject({
    ...{ tenant_id: null, actor: { key_id: null, role: 'system', user_id: null } },
    after: { name: 'Ada', tenant_id: tenant.id },
  });
  const both = await Promise.all([press(link), press(link)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual([303, 410]);
  const [entered] = both.filter(({ status }) => status === 303);
  expect(entered?.headers.get('location')).toBe('/app/');
  expect(entered?.headers.get('set-cookie')).toMatch(/^__Host-gatehouse=[\w-]{43}; /);
  expect((await press(link)).status).toBe(410);
  const { data } = (await tenants.call('GET', '/v1/sessions', { as: tenant.admin })).body;
  expect(data).toMatchObject([{ name: 'Ada', opened_by: 'link' }]);
  const opened = await tenants.rows<{ by: string }>(
    `select after->>'opened_by' as by from tenant.audit_log where action = 'session.created'`,
  );
  expect(opened).toEqual([{ by: 'link' }]);
});

it.each([
  ['another site', { 'sec-fetch-site': 'cross-site' }],
  ['no page', {}],
])('is used by no form of %s', async (_name, headers) => {
  const { key } = await tenants.makeKey(tenant.admin);
  const link = await linkFor(key);
  expect((await press(link, { headers })).status).toBe(403);
  expect((await press(link)).status).toBe(303);
});

it('is of no use after its minute, after a rotation, and for a key that ended', async () => {
  const { id, key } = await tenants.makeKey(tenant.admin);
  const [late, rotated] = [await linkFor(key), await linkFor(key)];
  await tenants.rows(
    `update tenant.login_tickets set expires_at = now() where ticket_sha256 = sha256($1::bytea)`,
    [Buffer.from(ticketIn(late))],
  );
  expect((await press(late)).status).toBe(410);
  const as = tenant.admin;
  await tenants.call('POST', `/v1/api-keys/${id}/rotate`, { as, body: { overlap_seconds: 0 } });
  expect((await press(rotated)).status).toBe(410);
  await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as });
  await expect(linkFor(key)).rejects.toThrow('There is no active key that begins so.');
  const log = createLogger('tenant', 'silent');
  const pool = createPool({ url: tenants.database.url, role: 'tenant_system', max: 1, log });
  expect(await insertLoginTicket(pool, Buffer.alloc(32), key.slice(4, 20))).toBe(false);
  expect(await findKeyOfLink(pool, 'nobody')).toBeNull();
  await deleteOldRows(pool, oldLoginTickets);
  await pool.end();
  const tickets = 'select from tenant.login_tickets where ticket_sha256 = sha256($1::bytea)';
  expect(await tenants.rows(tickets, [Buffer.from(ticketIn(late))])).toEqual([]);
});

it('bounds the wrong tickets of a network', async () => {
  const network = '203.0.113.77';
  const statuses = await upToLimit(60, async () => (await press(`=${'a'.repeat(43)}`, { network })).status);
  expect(new Set(statuses.slice(0, 60))).toEqual(new Set([410]));
  expect(statuses.at(-1)).toBe(429);
  expect((await browse('/login/link?ticket=wrong', { method: 'GET' })).status).toBe(410);
});
