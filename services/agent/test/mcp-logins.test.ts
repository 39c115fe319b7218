import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '@gatehouse/kit/ids';
import { knownClient } from '@gatehouse/test/authorization-server';
import { eventually } from '@gatehouse/test/eventually';
import type { As } from '@gatehouse/test/service-under-test';
import type { TestTenant } from './agent-service.ts';
import { McpLoginsUnderTest } from './mcp-logins-under-test.ts';

const path = '/v1/mcp/logins';
const perUser = { type: 'oauth', per_user: true };

let mcp: McpLoginsUnderTest;
let ann: As;
let bob: As;

beforeAll(async () => {
  mcp = await McpLoginsUnderTest.start();
});
beforeEach(async () => {
  await mcp.begin();
  mcp.login.metadata = { revocation_endpoint: `${mcp.login.issuer}/revoke` };
  [ann, bob] = [mcp.tenant.bound('ann'), mcp.tenant.bound('bob')];
});
afterEach(() => mcp.end());
afterAll(() => mcp.stop());

async function list(as: As, query = '') {
  const { status, body } = await mcp.agents.call('GET', `${path}?${query}`, { as });
  expect(status).toBe(200);
  return body;
}

/** The status of each server, by name. */
async function statusesOf(as: As): Promise<Record<string, string>> {
  const { data } = await list(as);
  return Object.fromEntries(data.map(({ server_name: name, status }) => [name, status]));
}

async function logOut(serverId: string, as: As): Promise<number> {
  return (await mcp.agents.call('DELETE', `${path}/${serverId}`, { as })).status;
}

/** The kinds of the tokens that were revoked. */
const revoked = () => mcp.login.revocations.map(({ form }) => form.get('token_type_hint'));

/** Disconnections in the audit log of the tenant. */
const disconnections = () =>
  mcp.agents.tenant.entries.filter(
    ({ tenant_id: tenantId, action }) => tenantId === mcp.tenant.id && action === 'mcp_server.disconnected',
  );

describe('the list of logins', () => {
  it('has each server where users have logins, as the user sees it, and nothing secret', async () => {
    const id = await mcp.register(perUser, { url: `${mcp.server.url}?key=of-the-tenant` });
    await mcp.register({ type: 'oauth' }, { name: 'shared' });
    await mcp.register({ type: 'none' }, { name: 'open', verify: false });
    await mcp.register(perUser, { name: 'off', enabled: false });
    await mcp.connect('mail', 'ann at mail', ann);
    const { data } = await list(ann);
    expect(data).toEqual([
      {
        ...{ server_id: id, server_name: 'mail', server_host: new URL(mcp.server.url).host },
        ...{ status: 'logged_in', logged_in_at: expect.any(String), expires_at: null },
      },
    ]);
    const age = Date.now() - Date.parse(data[0]?.logged_in_at ?? '');
    expect(Math.abs(age)).toBeLessThan(60_000);
    expect(await list(bob)).toMatchObject({
      data: [{ server_id: id, status: 'needs_login', logged_in_at: null, expires_at: null }],
    });
    const stranger = mcp.agents.makeTenant();
    expect(await list(stranger.bound('ann'))).toEqual({ data: [], has_more: false, next_cursor: null });
  });

  it('says when the consent was given, not when its link was made', async () => {
    await mcp.register(perUser);
    const link = await mcp.makeLink('mail', ann);
    await mcp.agents.rows(
      `update agent.consent_tickets set created_at = created_at - interval '9 minutes' where tenant_id = $1`,
      [mcp.tenant.id],
    );
    expect((await mcp.consent(link, 'ann')).status).toBe(200);
    const [login] = (await list(ann)).data;
    expect(Date.now() - Date.parse(login?.logged_in_at ?? '')).toBeLessThan(120_000);
    // As a release before the column stores it.
    await mcp.agents.rows('update agent.mcp_logins set logged_in_at = null where tenant_id = $1', [
      mcp.tenant.id,
    ]);
    const [older] = (await list(ann)).data;
    expect(Date.now() - Date.parse(older?.logged_in_at ?? '')).toBeGreaterThan(480_000);
  });

  it('shows a login that is lost, and the end of one that cannot be renewed', async () => {
    await mcp.register(perUser);
    await mcp.connect('mail', 'ann', ann);
    mcp.login.revoke('ann');
    const agentId = await mcp.makeAgent();
    expect((await mcp.call(agentId, { as: ann })).outcome).toBe('needs_consent');
    expect(await statusesOf(ann)).toEqual({ mail: 'lost' });
    mcp.login.gives.refresh = false;
    await mcp.connect('mail', 'ann', ann);
    const [login] = (await list(ann)).data;
    expect(login?.status).toBe('logged_in');
    const leftMs = Date.parse(login?.expires_at ?? '') - Date.now();
    expect(leftMs).toBeGreaterThan(3_000_000);
    expect(leftMs).toBeLessThan(3_700_000);
    await mcp.agents.rows('update agent.mcp_logins set expires_at = now() where tenant_id = $1', [
      mcp.tenant.id,
    ]);
    expect(await statusesOf(ann)).toEqual({ mail: 'lost' });
  });

  it('keeps a disabled server while the user has a login there, which they can end', async () => {
    const id = await mcp.register(perUser);
    await mcp.connect('mail', 'ann', ann);
    const disabled = await mcp.agents.call('PATCH', `/v1/mcp/servers/${id}`, {
      as: mcp.tenant.admin,
      body: { enabled: false },
    });
    expect(disabled.status).toBe(200);
    expect(await statusesOf(ann)).toEqual({ mail: 'logged_in' });
    expect(await statusesOf(bob)).toEqual({});
    expect(await logOut(id, ann)).toBe(204);
    expect(await statusesOf(ann)).toEqual({});
  });

  it('comes in pages, the newest server first', async () => {
    const names = ['one', 'two', 'three'];
    for (const name of names) await mcp.register(perUser, { name, verify: false });
    await mcp.connect('two', 'ann', ann);
    const first = await list(ann, 'limit=2');
    expect(first.data.map(({ server_name: name }) => name)).toEqual(['three', 'two']);
    const second = await list(ann, `limit=2&cursor=${first.next_cursor ?? ''}`);
    expect(second).toMatchObject({ data: [{ server_name: 'one' }], has_more: false, next_cursor: null });
  });

  it('is of the acting user', async () => {
    for (const method of ['GET', 'DELETE']) {
      const at = method === 'GET' ? path : `${path}/${newId()}`;
      expect(await mcp.agents.call(method, at, { as: mcp.tenant.user })).toMatchObject({
        status: 400,
        body: { error: { code: 'acting_user_required' } },
      });
    }
  });
});

describe('the end of a login', () => {
  it('revokes its tokens, is recorded, and leaves those of other users and tenants alone', async () => {
    mcp.answerWithUsers();
    const other = mcp.agents.makeTenant();
    const ids = new Map<TestTenant, string>();
    for (const tenant of [other, mcp.tenant]) {
      mcp.tenant = tenant;
      ids.set(tenant, await mcp.register(perUser));
      await mcp.connect('mail', `ann of ${tenant.id}`, tenant.bound('ann'));
      await mcp.connect('mail', `bob of ${tenant.id}`, tenant.bound('bob'));
    }
    const id = ids.get(mcp.tenant) ?? '';
    const agentId = await mcp.makeAgent();
    for (const at of [mcp.agents.service, mcp.replica])
      expect((await mcp.call(agentId, { as: ann, at })).content).toBe(`ann of ${mcp.tenant.id}`);
    expect(await logOut(ids.get(other) ?? '', ann)).toBe(404);
    expect(await logOut(newId(), ann)).toBe(404);
    expect(await logOut('mail', ann)).toBe(404);
    expect(await logOut(id, mcp.tenant.bound('eve'))).toBe(404);
    expect(await logOut(id, ann)).toBe(204);
    expect(await logOut(id, ann)).toBe(404);
    for (const at of [mcp.agents.service, mcp.replica]) {
      expect((await mcp.call(agentId, { as: ann, at })).outcome).toBe('needs_consent');
      expect((await mcp.call(agentId, { as: bob, at })).content).toBe(`bob of ${mcp.tenant.id}`);
    }
    expect(await mcp.toolsOf(agentId, ann)).toEqual(['mail__connect']);
    expect([await statusesOf(ann), await statusesOf(bob)]).toEqual([
      { mail: 'needs_login' },
      { mail: 'logged_in' },
    ]);
    expect(await statusesOf(other.bound('ann'))).toEqual({ mail: 'logged_in' });
    await eventually(() => expect(revoked()).toEqual(['refresh_token', 'access_token']));
    expect(mcp.login.revoked).toBe(1);
    await eventually(() => {
      const after = { name: 'mail', user_id: 'ann' };
      expect(disconnections()).toMatchObject([{ resource: { id }, before: after, after: null }]);
    });
    await mcp.connect('mail', 'ann again', ann);
    expect((await mcp.call(agentId, { as: ann })).content).toBe('ann again');
  });

  it.each([
    ['at another port', { revocation_endpoint: 'http://127.0.0.1:1/revoke' }],
    ['at another address', { revocation_endpoint: 'https://10.0.0.1/revoke' }],
    ['that is not named', { revocation_endpoint: undefined }],
  ])('does not depend on an endpoint for revocations: one %s', async (_name, metadata) => {
    mcp.login.metadata = metadata;
    const id = await mcp.register(perUser);
    await mcp.connect('mail', 'ann', ann);
    expect(await logOut(id, ann)).toBe(204);
    expect(await statusesOf(ann)).toEqual({ mail: 'needs_login' });
  });

  it('waits for no authorization server, and takes its refusal', async () => {
    const id = await mcp.register({ ...perUser, ...knownClient });
    const held = Promise.withResolvers<undefined>();
    await mcp.connect('mail', 'ann', ann);
    mcp.login.hold = () => held.promise;
    mcp.login.intercept = (_, response) => {
      response.writeHead(503).end();
      return true;
    };
    expect(await logOut(id, ann)).toBe(204);
    expect(await statusesOf(ann)).toEqual({ mail: 'needs_login' });
    held.resolve(undefined);
    // The second kind is tried whatever became of the first.
    await eventually(() => expect(revoked()).toEqual(['refresh_token', 'access_token']));
    const { client_id: one, client_secret: two } = knownClient;
    const basic = `Basic ${Buffer.from(`${one}:${two}`).toString('base64')}`;
    expect(mcp.login.revocations.map(({ authorization }) => authorization)).toEqual([basic, basic]);
    mcp.login.hold = () => Promise.resolve();
    mcp.login.intercept = () => false;
  });

  it('revokes nothing while the client of the tenant has another login of the user', async () => {
    const mail = await mcp.register({ ...perUser, ...knownClient });
    const dates = await mcp.register({ ...perUser, ...knownClient }, { name: 'dates' });
    const notes = await mcp.register(perUser, { name: 'notes' });
    await mcp.connect('mail', 'ann', ann);
    await mcp.connect('dates', 'ann', ann);
    await mcp.connect('dates', 'bob', bob);
    await mcp.connect('notes', 'bob at notes', bob);
    expect(await logOut(mail, ann)).toBe(204);
    // It comes after the one before.
    expect(await logOut(notes, bob)).toBe(204);
    await eventually(() => expect(revoked()).toHaveLength(2));
    expect(mcp.login.userOf({ headers: { authorization: `Bearer ${mcp.login.tokens[0] ?? ''}` } })).toBe(
      'ann',
    );
    expect(mcp.login.revoked).toBe(1);
    expect(await logOut(dates, ann)).toBe(204);
    await eventually(() => expect(revoked()).toHaveLength(4));
    expect(mcp.login.revoked).toBe(2);
  });

  it('revokes nothing while all users share a login by the client', async () => {
    await mcp.register({ type: 'oauth', ...knownClient }, { name: 'shared' });
    const mail = await mcp.register({ ...perUser, ...knownClient });
    const notes = await mcp.register(perUser, { name: 'notes' });
    await mcp.connect('shared', 'ann', mcp.tenant.admin);
    await mcp.connect('mail', 'ann', ann);
    await mcp.connect('notes', 'ann at notes', ann);
    expect(await logOut(mail, ann)).toBe(204);
    // It comes after the one before.
    expect(await logOut(notes, ann)).toBe(204);
    await eventually(() => expect(revoked()).toHaveLength(2));
    expect(mcp.login.revoked).toBe(1);
  });

  it('gives the tokens to no other server that its metadata name', async () => {
    const requests: string[] = [];
    const elsewhere = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.end();
    }).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const { port } = elsewhere.address() as AddressInfo;
    mcp.login.metadata = { revocation_endpoint: `http://127.0.0.1:${port}/revoke` };
    const mail = await mcp.register({ ...perUser, ...knownClient });
    await mcp.connect('mail', 'ann', ann);
    mcp.login.metadata = { revocation_endpoint: `${mcp.login.issuer}/revoke` };
    const notes = await mcp.register(perUser, { name: 'notes' });
    await mcp.connect('notes', 'ann at notes', ann);
    expect(await logOut(mail, ann)).toBe(204);
    expect(await logOut(notes, ann)).toBe(204);
    await eventually(() => expect(mcp.login.revoked).toBe(1));
    expect(requests).toEqual([]);
    elsewhere.close();
  });

  it('ends a consent that is under way, whose tokens are revoked', async () => {
    const id = await mcp.register(perUser);
    await mcp.connect('mail', 'ann', ann);
    const [mine, next, ofBob] = [
      await mcp.makeLink('mail', ann),
      await mcp.makeLink('mail', ann),
      await mcp.makeLink('mail', bob),
    ];
    const held = Promise.withResolvers<undefined>();
    mcp.login.hold = () => held.promise;
    const coming = mcp.consent(mine, 'ann twice');
    await eventually(() => expect(mcp.login.tokenRequests).toHaveLength(2));
    expect(await logOut(id, ann)).toBe(204);
    held.resolve(undefined);
    expect((await coming).status).toBe(410);
    expect(await statusesOf(ann)).toEqual({ mail: 'needs_login' });
    expect((await mcp.browser.open(next, mcp.port)).status).toBe(410);
    await eventually(() => expect(mcp.login.revoked).toBe(2));
    expect((await mcp.consent(ofBob, 'bob')).status).toBe(200);
  });

  it('comes before a refresh that is under way, whose tokens are revoked', async () => {
    const id = await mcp.register(perUser);
    await mcp.connect('mail', 'ann', ann);
    const agentId = await mcp.makeAgent();
    expect((await mcp.call(agentId, { as: ann })).outcome).toBe('ok');
    mcp.login.expire('ann');
    const held = Promise.withResolvers<undefined>();
    mcp.login.hold = () => held.promise;
    const coming = mcp.call(agentId, { as: ann });
    await eventually(() => expect(mcp.login.tokenRequests).toHaveLength(2));
    expect(await logOut(id, ann)).toBe(204);
    held.resolve(undefined);
    expect((await coming).outcome).not.toBe('ok');
    expect((await mcp.call(agentId, { as: ann })).outcome).toBe('needs_consent');
    // Two of the login that has ended, and two that came late.
    await eventually(() => expect(revoked()).toHaveLength(4));
    const tokens = mcp.login.revocations.map(({ form }) => form.get('token') ?? '');
    expect(tokens).toEqual(expect.arrayContaining(mcp.login.tokens));
  });

  it('ends one that can no longer be decrypted', async () => {
    const id = await mcp.register(perUser);
    await mcp.connect('mail', 'ann', ann);
    await mcp.agents.rows(`update agent.mcp_logins set secrets = '\\x00' where server_id = $1`, [id]);
    expect(await logOut(id, ann)).toBe(204);
    expect(await statusesOf(ann)).toEqual({ mail: 'needs_login' });
  });
});

describe('logins that end with others', () => {
  it.each<[string, (id: string) => Promise<unknown>]>([
    ['their server is deleted', (id) => change('DELETE', id)],
    ['their server moves', (id) => change('PATCH', id, { url: `${mcp.server.url}?moved` })],
    ['the data of their users are deleted', () => Promise.all([forget('ann'), forget('bob')])],
  ])('are revoked when %s', async (_when, end) => {
    const id = await mcp.register(perUser);
    await mcp.register(perUser, { name: 'notes' });
    await mcp.connect('mail', 'ann', ann);
    await mcp.connect('mail', 'bob', bob);
    await mcp.connect('notes', 'cyd', mcp.tenant.bound('cyd'));
    await end(id);
    await eventually(() => expect(mcp.login.revoked).toBe(2));
    const users = mcp.login.tokens.map((token) =>
      mcp.login.userOf({ headers: { authorization: `Bearer ${token}` } }),
    );
    expect(users.filter((user) => user !== null)).toEqual(['cyd']);
  });

  const change = async (method: string, id: string, body?: object): Promise<void> => {
    const { status } = await mcp.agents.call(method, `/v1/mcp/servers/${id}`, { as: mcp.tenant.admin, body });
    expect([200, 204]).toContain(status);
  };

  const forget = async (userId: string): Promise<void> => {
    const request = {
      ...{ tenantId: mcp.tenant.id, userId, deletionId: newId() },
      requestedAtMs: BigInt(Date.now() + 1_000),
    };
    const tenantService = await mcp.agents.participant('tenant');
    const { counts } = await tenantService.call('forgetUser', request, { deadlineMs: 30_000 });
    expect(counts).toEqual({ cookies: 0n, mcp_logins: 1n });
  };
});
