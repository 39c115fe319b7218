import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ScimClient } from './scim-client.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
let tenant: TestTenant;
let scim: ScimClient;
let other: ScimClient;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  tenant = await service.makeTenant();
  scim = new ScimClient(service, tenant);
  other = new ScimClient(service, await service.makeTenant());
});
afterAll(() => service.stop());

/** A user as Entra ID makes it. */
const entra = (externalId: string, userName: string) => ({
  schemas: [
    'urn:ietf:params:scim:schemas:core:2.0:User',
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  ],
  ...{ externalId, userName, active: true, displayName: 'Ada Lovelace' },
  emails: [{ primary: true, type: 'work', value: userName }],
  meta: { resourceType: 'User' },
  name: { formatted: 'Ada Lovelace', familyName: 'Lovelace', givenName: 'Ada' },
  roles: [],
  'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'Analysis' },
});

/** Entra ID adds it to each address if an admin asks for the shapes of the RFC. */
const flag = '?aadOptscim062020';

describe('Entra ID', () => {
  it('looks for a user, makes it and changes it, without its flag', async () => {
    expect(await scim.get('/Users?filter=userName+eq+%22ada%40corp.example%22')).toMatchObject({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      ...{ totalResults: 0, itemsPerPage: 0, startIndex: 1, Resources: [] },
    });
    const made = await scim.call('POST', '/Users', entra('oid-1', 'ada@corp.example'));
    expect(made.status).toBe(201);
    const { id } = made.body;
    expect(made.headers.get('location')).toBe(`/scim/v2/Users/${id}`);
    expect(made.body).toEqual({
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      ...{ id, externalId: 'oid-1', userName: 'ada@corp.example', active: true, displayName: 'Ada Lovelace' },
      emails: [{ primary: true, type: 'work', value: 'ada@corp.example' }],
      name: { formatted: 'Ada Lovelace', familyName: 'Lovelace', givenName: 'Ada' },
      groups: [],
      meta: {
        ...{ resourceType: 'User', location: `/scim/v2/Users/${id}` },
        ...{ created: expect.any(String), lastModified: expect.any(String) },
      },
    });
    expect(await scim.user('oid-1')).toMatchObject({
      ...{ user_id: 'oid-1', aliases: ['ada@corp.example'], display_name: 'Ada Lovelace' },
      ...{ emails: ['ada@corp.example'], status: 'active', source: 'scim', external_id: 'oid-1' },
    });

    const patched = await scim.patch(
      `/Users/${id}`,
      { op: 'Add', path: 'emails[type eq "home"].value', value: 'ada@home.example' },
      { op: 'Add', path: 'emails[type eq "home"].primary', value: 'False' },
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'countess@corp.example' },
      { op: 'Replace', path: 'name.givenName', value: 'Augusta' },
      { op: 'Add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager', value: 'x' },
      { op: 'Replace', path: 'displayName', value: [{ $ref: null, value: 'Countess' }] },
      { op: 'Replace', path: 'active', value: 'False' },
    );
    expect(patched).toMatchObject({
      status: 200,
      body: {
        active: false,
        displayName: 'Countess',
        name: { givenName: 'Augusta', familyName: 'Lovelace' },
      },
    });
    expect(patched.body.emails).toEqual([
      { primary: true, type: 'work', value: 'countess@corp.example' },
      { type: 'home', value: 'ada@home.example', primary: false },
    ]);
    expect(await scim.user('ada@corp.example')).toMatchObject({ status: 'blocked', blocked_by: ['scim'] });
    expect(await scim.resolve('OID-1')).toMatchObject({ userId: 'oid-1', blocked: true });
    // A disabled user can still be read.
    expect(await scim.found('Users', 'externalId eq "oid-1"')).toMatchObject([{ id, active: false }]);
    await scim.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'True' });
    expect(await scim.user('oid-1')).toMatchObject({ status: 'active', blocked_by: [] });
  });

  it('changes a user with its flag', async () => {
    const flagged = await scim.call('POST', `/Users${flag}`, entra('oid-2', 'bo@corp.example'));
    const { id } = flagged.body;
    expect(await scim.get(`/Users${flag}&filter=externalId+eq+%22oid-2%22`)).toMatchObject({
      ...{ totalResults: 1, Resources: [{ id }] },
    });
    const answer = await scim.patch(`/Users/${id}${flag}`, {
      op: 'replace',
      value: {
        ...{ active: false, 'name.givenName': 'Bo', 'name.familyName': 'Berg' },
        'urn:ietf:params:scim:schemas:core:2.0:User:displayName': 'Bo Berg',
        'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department': 'Sales',
        'emails[type eq "work"].value': 'bo.berg@corp.example',
      },
    });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        ...{ active: false, displayName: 'Bo Berg' },
        name: { givenName: 'Bo', familyName: 'Berg' },
        emails: [{ value: 'bo.berg@corp.example', type: 'work' }],
      },
    });
    const removed = await scim.patch(
      `/Users/${id}`,
      { op: 'remove', path: 'name.givenName' },
      { op: 'remove', path: 'emails[type eq "work"]' },
      { op: 'remove', path: 'displayName' },
    );
    expect(removed.body).toMatchObject({ emails: [], name: { familyName: 'Berg' } });
    expect(removed.body).not.toHaveProperty('displayName');
  });

  it('disables a user softly under a new name, which is one more alias', async () => {
    const { id } = await scim.add('Users', entra('oid-3', 'cy@corp.example'));
    const name = `${'0123456789abcdef'.repeat(2)}cy@corp.example`;
    await scim.patch(
      `/Users/${id}`,
      { op: 'Replace', path: 'userName', value: name },
      { op: 'Replace', path: 'active', value: 'False' },
    );
    expect(await scim.user('oid-3')).toMatchObject({
      ...{ user_id: 'oid-3', status: 'blocked', aliases: expect.arrayContaining(['cy@corp.example', name]) },
    });
    expect(await scim.found('Users', 'userName eq "cy@corp.example"')).toEqual([]);
    expect(await scim.found('Users', `userName eq "${name.toUpperCase()}"`)).toMatchObject([{ id }]);
  });
});

describe('Okta', () => {
  const okta = (userName: string, more: object = {}) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    ...{ userName, name: { givenName: 'Di', familyName: 'Doe' }, locale: 'en-US', groups: [] },
    emails: [{ primary: true, value: userName, type: 'work', display: userName }],
    ...{ displayName: 'Di Doe', externalId: `00u-${userName}`, password: 'pw-canary', active: true, ...more },
  });

  it('tests the connection, makes a user once, and changes all of it by PUT', async () => {
    expect(await scim.get('/Users?startIndex=1&count=2')).toMatchObject({ startIndex: 1 });
    const made = await scim.add('Users', okta('di@corp.example'));
    expect(made).toMatchObject({ name: { givenName: 'Di', familyName: 'Doe' }, active: true });
    expect(
      JSON.stringify([made, await service.rows('select to_jsonb(u) from tenant.users u')]),
    ).not.toContain('pw-canary');
    expect(await scim.call('POST', '/Users', okta('DI@corp.example'))).toMatchObject({
      status: 409,
      body: { status: '409', scimType: 'uniqueness', schemas: [expect.stringContaining('2.0:Error')] },
    });
    const { externalId: _, ...withoutId } = okta('di@corp.example', { displayName: 'Diana' });
    expect(await scim.call('PUT', `/Users/${made.id}`, withoutId)).toMatchObject({
      ...{ status: 200, body: { externalId: '00u-di@corp.example', displayName: 'Diana' } },
    });
    await scim.call('PUT', `/Users/${made.id}`, okta('di@corp.example', { active: false }));
    expect(await scim.user('di@corp.example')).toMatchObject({ blocked_by: ['scim'] });
    await scim.patch(`/Users/${made.id}`, { op: 'replace', value: { active: true } });
    expect(await scim.user('di@corp.example')).toMatchObject({ blocked_by: [] });
  });

  it('changes a userName without a second user', async () => {
    const made = await scim.add('Users', okta('fay@corp.example', { externalId: '00u-fay' }));
    const renamed = okta('fay.ray@corp.example', { externalId: '00u-fay' });
    expect(await scim.call('PUT', `/Users/${made.id}`, renamed)).toMatchObject({
      ...{ status: 200, body: { id: made.id, userName: 'fay.ray@corp.example' } },
    });
    expect(await scim.call('POST', '/Users', renamed)).toMatchObject({ status: 409 });
    for (const name of ['fay@corp.example', 'fay.ray@corp.example', '00u-fay'])
      expect(await scim.user(name)).toMatchObject({ user_id: '00u-fay' });
    expect(await scim.found('Users', 'externalId eq "00u-fay"')).toMatchObject([{ id: made.id }]);
  });
});

describe('a user', () => {
  it('takes over an entry of either name, which keeps its user id and what others gave', async () => {
    await scim.put('eve', { aliases: ['eve@corp.example'], groups: ['Chess'], status: 'blocked' });
    await service.rows(
      `update tenant.group_members set sources = '{api,login}'
       where person_id = (select id from tenant.users where user_id = 'eve')`,
    );
    await scim.add('Users', entra('oid-eve', 'Eve@corp.example'));
    expect(await scim.user('oid-eve')).toMatchObject({
      ...{ user_id: 'eve', aliases: ['eve@corp.example', 'oid-eve'], source: 'api', external_id: 'oid-eve' },
      ...{ groups: ['Chess'], blocked_by: ['api'] },
    });
    const members = await service.rows(
      `select sources from tenant.group_members where person_id = (select id from tenant.users where user_id = 'eve')`,
    );
    expect(members).toEqual([{ sources: ['api'] }]);
    // The API can't take away the names by which SCIM knows the user, nor the block of the other side.
    await scim.put('eve', { aliases: ['evi'], status: 'active' });
    const [shown] = await scim.found('Users', 'externalId eq "OID-EVE"');
    await scim.patch(`/Users/${String(shown?.id)}`, { op: 'replace', value: { active: false } });
    expect(await scim.put('eve', { status: 'active' })).toMatchObject({
      ...{ aliases: ['eve@corp.example', 'evi', 'oid-eve'], blocked_by: ['scim'] },
    });
  });

  it('of whom two are known is refused', async () => {
    await scim.put('two-a', {});
    await scim.put('two-b', {});
    expect(await scim.call('POST', '/Users', entra('two-a', 'two-b'))).toMatchObject({ status: 409 });
    await scim.add('Users', entra('two-a', 'two-a@corp.example'));
    const { id } = await scim.add('Users', entra('two-c', 'two-c@corp.example'));
    expect(await scim.patch(`/Users/${id}`, { op: 'replace', value: { userName: 'TWO-B' } })).toMatchObject({
      ...{ status: 409, body: { scimType: 'uniqueness' } },
    });
    expect(await scim.get(`/Users/${id}`)).toMatchObject({ userName: 'two-c@corp.example' });
  });

  it('is known by its userName without an externalId, and by the setting', async () => {
    await scim.add('Users', { userName: 'plain@corp.example' });
    expect(await scim.user('plain@corp.example')).toMatchObject({
      ...{ user_id: 'plain@corp.example', aliases: [], external_id: null },
    });
    const settings = await service.call('PATCH', '/v1/tenant/settings', {
      ...{ as: tenant.admin, body: { scim_user_id: 'userName' } },
    });
    expect(settings).toMatchObject({ status: 200, body: { scim_user_id: 'userName' } });
    await scim.add('Users', entra('oid-set', 'set@corp.example'));
    expect(await scim.user('oid-set')).toMatchObject({ user_id: 'set@corp.example', aliases: ['oid-set'] });
    await service.call('PATCH', '/v1/tenant/settings', {
      ...{ as: tenant.admin, body: { scim_user_id: 'externalId' } },
    });
  });

  it('that is deleted leaves a block, and its keys are revoked; added again, it is unblocked', async () => {
    const { id } = await scim.add('Users', entra('oid-gone', 'gone@corp.example'));
    const key = await service.makeKey(tenant.admin, { user_id: 'Gone@corp.example' });
    expect((await scim.call('DELETE', `/Users/${id}`)).status).toBe(204);
    for (const method of ['GET', 'DELETE'])
      expect(await scim.call(method, `/Users/${id}`)).toMatchObject({ status: 404, body: { status: '404' } });
    expect(await scim.found('Users', 'userName eq "gone@corp.example"')).toEqual([]);
    expect(await scim.resolve('gone@corp.example')).toMatchObject({ blocked: true });
    const [revoked] = await service.rows('select revoked_at from tenant.api_keys where id = $1', [key.id]);
    expect(revoked).toEqual({ revoked_at: expect.any(Date) });
    const rows = await service.rows('select to_jsonb(u) as u from tenant.users u where id = $1', [id]);
    expect(JSON.stringify(rows)).not.toMatch(/gone|Lovelace/);
    await scim.add('Users', entra('oid-gone', 'gone@corp.example'));
    expect(await scim.user('gone@corp.example')).toMatchObject({ user_id: 'oid-gone', blocked_by: [] });
  });

  it('is changed as a whole or not at all', async () => {
    const { id } = await scim.add('Users', entra('oid-whole', 'whole@corp.example'));
    const before = await scim.get(`/Users/${id}`);
    for (const operation of [
      { op: 'replace', path: 'active', value: 'maybe' },
      { op: 'replace', path: 'userName', value: 'jürgen@corp.example' },
      { op: 'remove', path: 'userName' },
      { op: 'replace', path: 'emails[type eq', value: 'x' },
      { op: 'move', path: 'active', value: true },
    ]) {
      const answer = await scim.patch(
        `/Users/${id}`,
        { op: 'replace', value: { displayName: 'No' } },
        operation,
      );
      expect(answer).toMatchObject({ status: 400, body: { status: '400' } });
    }
    expect(await scim.get(`/Users/${id}`)).toEqual(before);
  });

  it('is invisible to another tenant', async () => {
    const { id } = await scim.add('Users', entra('oid-mine', 'mine@corp.example'));
    for (const method of ['GET', 'DELETE'])
      expect((await other.call(method, `/Users/${id}`)).status).toBe(404);
    expect((await other.call('PUT', `/Users/${id}`, entra('a', 'b'))).status).toBe(404);
    const patched = await other.patch(`/Users/${id}`, { op: 'replace', value: { active: false } });
    expect(patched.status).toBe(404);
    for (const filter of [
      `id eq "${id}"`,
      'userName eq "mine@corp.example"',
      'displayName eq "Ada Lovelace"',
    ])
      expect(await other.found('Users', filter)).toEqual([]);
    expect(await other.get('/Users')).toMatchObject({ totalResults: 0 });
    await other.add('Users', entra('oid-mine', 'mine@corp.example'));
    expect(await other.get('/Users')).toMatchObject({ totalResults: 1 });
  });
});

describe('requests', () => {
  it('list pages in a stable order, by filters, with chosen attributes', async () => {
    const list = new ScimClient(service, await service.makeTenant());
    const ids: string[] = [];
    for (const name of ['p1', 'p2', 'p3']) ids.push((await list.add('Users', entra(`oid-${name}`, name))).id);
    await list.put('unknown-to-scim', {});
    const page = async (query: string) => {
      const { Resources, ...rest } = await list.get(`/Users?${query}`);
      return { ...rest, ids: Resources.map(({ id }) => id) };
    };
    expect(await page('startIndex=2&count=1')).toMatchObject({
      ...{ totalResults: 3, startIndex: 2, itemsPerPage: 1, ids: ids.slice(1, 2) },
    });
    expect(await page('startIndex=0&count=500')).toMatchObject({ startIndex: 1, ids });
    expect(await page('count=0')).toMatchObject({ totalResults: 3, itemsPerPage: 0, ids: [] });
    expect(await page('unknown=1&sortBy=userName')).toMatchObject({ totalResults: 3 });
    const idsOf = async (filter: string) => (await list.found('Users', filter)).map(({ id }) => id);
    expect(await idsOf('emails[type eq "work"].value eq "P2"')).toEqual(ids.slice(1, 2));
    expect(await idsOf('displayName eq "ada lovelace"')).toEqual(ids);
    expect(await idsOf('displayName eq "ada lovelace" and userName eq "P3"')).toEqual(ids.slice(2));
    expect(await idsOf(`id eq "${String(ids[0])}" and externalId eq "oid-p1"`)).toEqual(ids.slice(0, 1));
    expect(await idsOf(`id eq "${String(ids[0])}" and externalId eq "oid-p2"`)).toEqual([]);
    const named = await list.get(`/Users/${String(ids[0])}?attributes=userName,name.givenName`);
    expect(named).toEqual({
      schemas: expect.any(Array),
      id: ids[0],
      userName: 'p1',
      name: { givenName: 'Ada' },
    });
    const less = await list.get(`/Users/${String(ids[0])}?excludedAttributes=emails,meta,GROUPS`);
    expect(Object.keys(less)).not.toEqual(expect.arrayContaining(['emails']));
    expect(less).toMatchObject({ userName: 'p1', displayName: 'Ada Lovelace' });
    await list.call('DELETE', `/Users/${String(ids[1])}`);
    expect(await page('')).toMatchObject({ totalResults: 2, ids: [ids[0], ids[2]] });
  });

  it.each([
    ['GET', '/Users?filter=userName%20co%20%22a%22', undefined, 'invalidFilter'],
    ['GET', '/Users?filter=title%20eq%20%22a%22', undefined, 'invalidFilter'],
    ['GET', '/Groups?filter=userName%20eq%20%22a%22', undefined, 'invalidFilter'],
    ['POST', '/Users', { displayName: 'Nameless' }, 'invalidValue'],
    ['POST', '/Users', { userName: 'a\nb' }, 'invalidValue'],
    ['POST', '/Groups', { members: [] }, 'invalidValue'],
    ['PATCH', '/Users/00000000-0000-7000-8000-000000000000', { schemas: [] }, 'invalidSyntax'],
  ])('%s %s is answered with an error of SCIM', async (method, path, body, scimType) => {
    const answer = await scim.call(method, path, body);
    expect(answer).toMatchObject({ status: 400, body: { status: '400', scimType } });
  });

  it('describe what the gateway takes', async () => {
    expect(await scim.get('/ServiceProviderConfig')).toMatchObject({ patch: { supported: true } });
    expect(await scim.get('/ResourceTypes')).toMatchObject({ totalResults: 2 });
    expect(await scim.get('/ResourceTypes/Group')).toMatchObject({ endpoint: '/Groups' });
    const [schema, ofGroups] = (await scim.get('/Schemas')).Resources;
    expect(await scim.get(`/Schemas/${String(schema?.id)}`)).toEqual(schema);
    // A client learns from it that it adds and removes members, and changes none.
    expect(ofGroups).toMatchObject({
      attributes: expect.arrayContaining([
        expect.objectContaining({
          name: 'members',
          subAttributes: [
            expect.objectContaining({ name: 'value', mutability: 'immutable' }),
            expect.objectContaining({ name: 'display', mutability: 'readOnly' }),
            expect.objectContaining({ name: '$ref', mutability: 'immutable' }),
          ],
        }),
      ]),
    });
    expect((await scim.call('GET', '/Schemas/urn:none')).status).toBe(404);
  });

  it('need the scope scim.write, which keys with users.write may give', async () => {
    expect((await service.call('GET', '/scim/v2/Users', { as: tenant.admin })).status).toBe(403);
    expect((await service.makeKey(tenant.admin, { role: 'admin' })).scopes).not.toContain('scim.write');
    const key = await service.makeKey(tenant.admin, { role: 'admin', scopes: ['scim.write'] });
    expect(key.scopes).toEqual(['scim.write']);
    const poor = { ...tenant.admin, scopes: ['keys.write' as const] };
    for (const [as, role] of [
      [poor, 'admin'],
      [tenant.admin, 'user'],
    ] as const) {
      const body = { name: 'k', role, scopes: ['scim.write'] };
      expect([400, 403]).toContain((await service.call('POST', '/v1/api-keys', { as, body })).status);
    }
  });

  it('that change users are in the audit log with their key', async () => {
    const { id } = await scim.add('Users', entra('oid-log', 'log@corp.example'));
    await scim.patch(`/Users/${id}`, { op: 'replace', value: { active: false } });
    await scim.call('DELETE', `/Users/${id}`);
    const entries = await service.rows(
      'select action, actor_key_id as key from tenant.audit_log where resource_id = $1 order by id',
      [id],
    );
    const key = tenant.admin.keyId;
    expect(entries).toEqual(
      ['created', 'updated', 'deleted'].map((verb) => ({ action: `user.${verb}`, key })),
    );
  });
});
