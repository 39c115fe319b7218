import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { BrowserCookie } from '@gatehouse/contract/cookies';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { testRewrapJob } from '@gatehouse/test/rewrap-job';
import type { As } from '@gatehouse/test/service-under-test';
import { sealedColumns } from '../src/sealed-columns.ts';
import { deleteOldRows } from '@gatehouse/pg/clean-up-store';
import { oldCookies } from '../src/cookies/cookie-store.ts';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
let agentId: string;
let ann: As;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
});
beforeEach(async () => {
  tenant = agents.makeTenant();
  ann = tenant.bound('ann');
  agentId = (await agents.makeAgent(tenant.admin)).id;
});
afterAll(() => agents.stop());

const path = '/v1/browser/cookies';
const cookie = (name: string, fields: object = {}) => ({
  name,
  value: `secret of ${name}`,
  domain: 'a.example',
  ...fields,
});

async function sync(
  cookies: object[],
  { as = ann, ...fields }: { as?: As; mode?: string; agent_id?: string } = {},
) {
  const body = { agent_id: agentId, source: 'test', cookies, ...fields };
  return agents.call('POST', `${path}/sync`, { as, body });
}

async function list(as: As = ann, query = ''): Promise<BrowserCookie[]> {
  const { status, body } = await agents.call('GET', `${path}?limit=200${query}`, { as });
  expect(status).toBe(200);
  return body.data;
}
const names = async (as: As = ann, query = '') => (await list(as, query)).map(({ name }) => name).sort();

describe('cookies of a user', () => {
  it('are stored encrypted, and listed without their values', async () => {
    const synced = await sync([
      cookie('a'),
      cookie('b', { domain: '.b.example', secure: true, sameSite: 'Lax' }),
    ]);
    expect([synced.status, synced.body]).toEqual([
      200,
      {
        ...{ synced: 2, deleted: 0, agent_id: agentId, user_id: 'ann' },
        domains: [
          { domain: 'a.example', cookies: 1 },
          { domain: 'b.example', cookies: 1 },
        ],
      },
    ]);
    // Cookies of one request may have ids of one millisecond.
    expect((await list()).toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
      expect.objectContaining({
        name: 'a',
        domain: 'a.example',
        host_only: true,
        expires_at: null,
        source: 'test',
      }),
      expect.objectContaining({ name: 'b', domain: 'b.example', host_only: false, same_site: 'lax' }),
    ]);
    const dump = JSON.stringify(
      await agents.rows('select c::text, encode(value, $1) from agent.cookies as c', ['escape']),
    );
    expect(dump).not.toContain('secret of');
    expect(JSON.stringify(await agents.call('GET', path, { as: ann }))).not.toContain('secret of');
  });

  it('are replaced in their place, merged or replaced as a whole', async () => {
    await sync([cookie('a'), cookie('b')]);
    const [before] = await list(ann);
    expect((await sync([cookie('b', { value: 'new' }), cookie('c')])).body).toMatchObject({
      synced: 2,
      deleted: 0,
    });
    expect(await names()).toEqual(['a', 'b', 'c']);
    const [after] = (await list()).filter(({ name }) => name === 'b');
    expect(after?.created_at).toBe(before?.created_at);
    expect((await sync([cookie('c')], { mode: 'replace' })).body).toMatchObject({ synced: 1, deleted: 2 });
    expect(await names()).toEqual(['c']);
    expect((await sync([cookie('c', { expires: 1 })])).body).toMatchObject({
      synced: 0,
      deleted: 1,
      domains: [],
    });
    expect(await names()).toEqual([]);
  });

  it('of which one is bad are not stored at all', async () => {
    const bad = await sync([cookie('a'), cookie('b'), cookie('__Host-c')]);
    expect([bad.status, bad.body.error]).toEqual([400, expect.objectContaining({ param: 'cookies[2]' })]);
    expect(await names()).toEqual([]);
    const none = await sync([]);
    expect([none.status, none.body.error.param]).toEqual([400, 'cookies']);
    const many = await sync(Array.from({ length: 501 }, (_, n) => cookie(`c${n}`)));
    expect([many.status, many.body.error.param]).toEqual([400, 'cookies']);
  });

  it('may have names, paths and partitions of any length that is allowed', async () => {
    const long = cookie('n'.repeat(1_024), { path: `/${'ü'.repeat(1_023)}`, partition_key: 'p'.repeat(512) });
    expect((await sync([long, cookie('late', { expires: 253_370_764_799 })])).status).toBe(200);
    expect(await list()).toHaveLength(2);
    expect((await sync([long])).body).toMatchObject({ synced: 1, deleted: 0 });
    expect(await list()).toHaveLength(2);
  });

  it('belong to the user and the agent', async () => {
    const other = await agents.makeAgent(tenant.admin);
    await sync([cookie('a')]);
    await sync([cookie('b')], { agent_id: other.key });
    await sync([cookie('c')], { as: tenant.acting('bob') });
    const foreign = agents.makeTenant();
    expect(await names()).toEqual(['a', 'b']);
    expect(await names(ann, `&agent_id=${other.id}`)).toEqual(['b']);
    expect(await names(tenant.acting('bob'))).toEqual(['c']);
    expect(await names(foreign.bound('ann'))).toEqual([]);
    expect((await sync([cookie('d')], { as: foreign.bound('ann') })).status).toBe(404);
    expect((await agents.call('GET', path, { as: tenant.admin })).body.error.code).toBe(
      'acting_user_required',
    );
    expect((await agents.call('DELETE', `${path}?agent_id=${agentId}`, { as: ann })).status).toBe(204);
    expect(await names()).toEqual(['b']);
    await agents.delete(tenant.admin, other.id);
    expect(await names()).toEqual([]);
    expect(await names(tenant.acting('bob'))).toEqual(['c']);
  });

  it('are 3,000 at most', async () => {
    const batch = (round: number) => Array.from({ length: 500 }, (_, n) => cookie(`c${round}-${n}`));
    for (let round = 0; round < 6; round += 1) expect((await sync(batch(round))).status).toBe(200);
    const more = await sync([cookie('one-more')]);
    expect([more.status, more.body.error.code]).toEqual([403, 'limit_reached']);
    expect((await sync(batch(0))).status).toBe(200);
    expect((await sync([cookie('one-more')], { mode: 'replace' })).body.deleted).toBe(3_000);
  });

  it('of two syncs at once are all stored, also for the same places', async () => {
    const some = (from: number) => Array.from({ length: 100 }, (_, n) => cookie(`c${from + n}`));
    const answers = await Promise.all([sync(some(0)), sync(some(50)), sync(some(25).toReversed())]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await names()).toHaveLength(150);
  });

  it('are removed when the user is forgotten, and when their time is over', async () => {
    await sync([cookie('a')]);
    await sync([cookie('b')], { as: tenant.acting('bob') });
    const peer = await agents.participant('tenant');
    const request = {
      tenantId: tenant.id,
      userId: 'ann',
      deletionId: newId(),
      requestedAtMs: BigInt(Date.now()),
    };
    expect(await peer.call('forgetUser', request, { deadlineMs: 5_000 })).toEqual({
      ...{ counts: { cookies: 1n, mcp_logins: 0n }, completed: true },
    });
    expect(await names()).toEqual([]);
    await expect(
      (await agents.participant('chat')).call('forgetUser', request, { deadlineMs: 5_000 }),
    ).rejects.toThrow();

    await sync([cookie('c', { expires: Date.now() / 1_000 + 60 })]);
    await agents.rows(`update agent.cookies set kept_until = now() where name = 'c' and tenant_id = $1`, [
      tenant.id,
    ]);
    expect(await names()).toEqual([]);
    const system = createPool({
      ...{ url: agents.database.url, role: 'agent_system', max: 1, log: createLogger('test', 'silent') },
    });
    await deleteOldRows(system, oldCookies);
    await system.end();
    const left = await agents.rows('select name from agent.cookies where tenant_id = $1', [tenant.id]);
    expect(left).toEqual([{ name: 'b' }]);
  });

  it('move to a new key of the ring, for their rows only', async () => {
    await sync([cookie('a')]);
    const log = createLogger('test', 'silent');
    const { url } = agents.database;
    const app = createPool({ url, role: 'agent_app', max: 1, log });
    const system = createPool({ url, role: 'agent_system', max: 1, log });
    await agents.rows('delete from agent.cookies where tenant_id <> $1', [tenant.id]);
    const added = newKeyRing('added');
    const both = KeyRing.parse(`${added},${agents.identity.keyRing}`);
    const { left, rewrapAll } = testRewrapJob({
      ...{ service: 'agent', columns: sealedColumns, app, system, keyRing: both },
    });
    expect(await left()).toEqual({ cookies: 1 });
    await rewrapAll();
    expect(await left()).toEqual({});
    const [row] = await agents.rows<{ id: string; value: Buffer }>('select id, value from agent.cookies');
    const open = (id: string) =>
      KeyRing.parse(added).open(row?.value ?? Buffer.alloc(0), `${tenant.id}/agent.cookies/value/${id}`);
    expect(open(row?.id ?? '').toString()).toBe('secret of a');
    expect(() => open(newId())).toThrow();
    await Promise.all([app.end(), system.end()]);
  });
});
