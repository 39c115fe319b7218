import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { Answer, SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
let tenant: TenantAccess;
beforeAll(async () => {
  gateway = await openGateway({ edges: 2 });
  tenant = await gateway.makeTenant();
});
afterAll(() => gateway.stop());

/** Ten times the bound of the API: machines differ. */
const withinMs = 50_000;

const put = (name: string, body: object, of = tenant): Promise<Answer> =>
  gateway.call(`/v1/users/${encodeURIComponent(name)}`, { key: of.adminKey, method: 'PUT', body });
const run = (key: string, user: string | null, edge = 0): Promise<Answer> =>
  gateway.call('/v1/chat/completions', {
    ...{ key, edge, headers: user === null ? {} : { 'x-service-user-id': user } },
    body: { model: 'small', messages: [{ role: 'user', content: 'Hello' }] },
  });
const untilBoth = (expected: object, ask: (edge: number) => Promise<Answer>): Promise<void> =>
  eventually(async () => {
    for (const edge of [0, 1]) expect(await ask(edge)).toMatchObject(expected);
  }, withinMs);
const refusedWith = (status: number, code: string) => ({ status, body: { error: { code } } });

describe('a user of the directory', () => {
  it('is one user for all services, whatever name a request gives', async () => {
    await put('ann', { aliases: ['ann@example.com'] });
    await untilBoth({ status: 200 }, (edge) => run(tenant.userKey, 'Ann@Example.com', edge));
    await eventually(async () => {
      await run(tenant.userKey, 'ANN@example.com');
      for (const name of ['ann', 'ANN%40example.com']) {
        const answer = await gateway.call(`/v1/traces?user_id=${name}`, { key: tenant.adminKey });
        const users = (answer.body as { data: { user_id: string }[] }).data.map((trace) => trace.user_id);
        expect(new Set(users)).toEqual(new Set(['ann']));
      }
    }, withinMs);
    const bound = await gateway.call('/v1/api-keys', {
      key: tenant.adminKey,
      body: { name: 'bound', role: 'user', user_id: 'ann@example.com' },
    });
    const { key } = bound.body as { key: string };
    expect(await gateway.call('/v1/whoami', { key })).toMatchObject({ body: { user_id: 'ann' } });
    expect(await run(key, 'ANN')).toMatchObject({ status: 200 });
    expect(await run(key, 'bea')).toMatchObject(refusedWith(403, 'user_mismatch'));
  });

  it('is refused on every edge once blocked, and works again afterwards', async () => {
    await put('bob', { aliases: ['bob@example.com'] });
    const made = await gateway.call('/v1/api-keys', {
      key: tenant.adminKey,
      body: { name: 'bound', role: 'user', user_id: 'bob@example.com' },
    });
    const { key } = made.body as { key: string };
    await untilBoth({ status: 200 }, (edge) => run(key, null, edge));
    await put('bob', { status: 'blocked' });
    await untilBoth(refusedWith(403, 'user_blocked'), (edge) => run(key, null, edge));
    await untilBoth(refusedWith(403, 'user_blocked'), (edge) => run(tenant.userKey, 'BOB', edge));
    // Chat may know of the block before the edge.
    await untilBoth(refusedWith(403, 'user_blocked'), () => gateway.call('/v1/whoami', { key }));
    expect(await run(tenant.userKey, 'other')).toMatchObject({ status: 200 });
    await put('bob', { status: 'active' });
    await untilBoth({ status: 200 }, (edge) => run(key, null, edge));
  });

  it('means nothing in another tenant', async () => {
    const other = await gateway.makeTenant();
    await put('carl', { status: 'blocked' });
    await put('carla', {}, other);
    await untilBoth(refusedWith(403, 'user_blocked'), (edge) => run(tenant.userKey, 'carl', edge));
    expect(await run(other.userKey, 'carl')).toMatchObject({ status: 200 });
  });
});

describe('acting_users', () => {
  it('decides whom runs act for', async () => {
    const strict = await gateway.makeTenant();
    await put('dora', { aliases: ['dora@example.com'] }, strict);
    const set = (acting_users: string) =>
      gateway.call('/v1/tenant/settings', { key: strict.adminKey, method: 'PATCH', body: { acting_users } });
    expect(await run(strict.userKey, null)).toMatchObject({ status: 200 });
    expect(await set('required')).toMatchObject({ status: 200, body: { acting_users: 'required' } });
    await untilBoth(refusedWith(400, 'acting_user_required'), (edge) => run(strict.userKey, null, edge));
    expect(await run(strict.userKey, 'anyone')).toMatchObject({ status: 200 });
    await set('known');
    await untilBoth(refusedWith(403, 'user_unknown'), (edge) => run(strict.userKey, 'anyone', edge));
    expect(await run(strict.userKey, 'DORA@example.com')).toMatchObject({ status: 200 });
    expect(await run(strict.userKey, null)).toMatchObject(refusedWith(400, 'acting_user_required'));
    // Reads are no runs.
    expect(await gateway.call('/v1/models', { key: strict.userKey })).toMatchObject({ status: 200 });
  });
});
