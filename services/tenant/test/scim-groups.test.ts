import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ScimClient } from './scim-client.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
let tenant: TestTenant;
let scim: ScimClient;
let other: ScimClient;
let ada: string;
let bo: string;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  tenant = await service.makeTenant();
  scim = new ScimClient(service, tenant);
  other = new ScimClient(service, await service.makeTenant());
  ada = (await scim.add('Users', { userName: 'ada' })).id;
  bo = (await scim.add('Users', { userName: 'bo' })).id;
});
afterAll(() => service.stop());

const members = async (id: string, of = scim): Promise<string[]> =>
  (await of.get(`/Groups/${id}`)).members.map(({ value }) => value).sort();
const groupsOf = async (name: string): Promise<string[] | undefined> =>
  (await scim.resolve(name))?.groups.map((group) => group.name);

describe('Entra ID', () => {
  it('looks for a group, makes it and changes its members, without its flag', async () => {
    const filter = 'displayName eq "Analysts"';
    expect(await scim.found('Groups', filter, '&excludedAttributes=members')).toEqual([]);
    const made = await scim.call('POST', '/Groups', {
      schemas: [
        'urn:ietf:params:scim:schemas:core:2.0:Group',
        'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group',
      ],
      ...{ externalId: 'object-1', displayName: 'Analysts', members: [], meta: { resourceType: 'Group' } },
    });
    expect(made).toMatchObject({
      status: 201,
      body: { externalId: 'object-1', displayName: 'Analysts', members: [], meta: { resourceType: 'Group' } },
    });
    const { id } = made.body;
    expect(made.headers.get('location')).toBe(`/scim/v2/Groups/${id}`);
    const added = await scim.patch(`/Groups/${id}`, {
      ...{ op: 'Add', path: 'members' },
      value: [
        { $ref: null, value: ada },
        { $ref: null, value: bo },
      ],
    });
    expect(added.status).toBe(204);
    expect(await members(id)).toEqual([ada, bo].sort());
    expect(await groupsOf('ada')).toEqual(['Analysts']);
    expect((await scim.get(`/Users/${ada}`)).groups).toEqual([
      { value: id, $ref: `/scim/v2/Groups/${id}`, display: 'Analysts' },
    ]);
    const removed = await scim.patch(`/Groups/${id}`, {
      ...{ op: 'Remove', path: 'members', value: [{ $ref: null, value: ada }] },
    });
    expect(removed.status).toBe(204);
    expect(await members(id)).toEqual([bo]);
    expect(await groupsOf('ada')).toEqual([]);
    const [group] = await scim.found('Groups', 'displayName eq "ANALYSTS"', '&excludedAttributes=members');
    expect(group).toMatchObject({ id, displayName: 'Analysts' });
    expect(group).not.toHaveProperty('members');
  });

  it('renames a group and removes members with its flag', async () => {
    const { id } = await scim.add('Groups', { displayName: 'Flag', externalId: 'object-2' });
    await scim.patch(`/Groups/${id}`, { op: 'add', value: { members: [{ value: ada }, { value: bo }] } });
    await scim.patch(
      `/Groups/${id}`,
      { op: 'replace', value: { displayName: 'Flagged' } },
      { op: 'remove', path: `members[value eq "${ada}"]` },
    );
    expect(await members(id)).toEqual([bo]);
    expect(await groupsOf('bo')).toEqual(['Analysts', 'Flagged']);
    await scim.patch(`/Groups/${id}`, { op: 'remove', path: 'members' });
    expect(await members(id)).toEqual([]);
  });
});

describe('Okta', () => {
  it('leaves members with a new name, and empties a group by an empty list', async () => {
    const { id } = await scim.add('Groups', {
      displayName: 'Okta',
      members: [{ value: ada, display: 'ada' }],
    });
    await scim.patch(`/Groups/${id}`, { op: 'replace', value: { id, displayName: 'Okta 2' } });
    expect(await scim.get(`/Groups/${id}`)).toMatchObject({
      ...{ displayName: 'Okta 2', members: [{ value: ada }] },
    });
    await scim.patch(`/Groups/${id}`, {
      op: 'replace',
      path: 'members',
      value: [{ value: bo, display: 'bo' }],
    });
    expect(await members(id)).toEqual([bo]);
    await scim.patch(`/Groups/${id}`, { op: 'replace', path: 'members', value: [] });
    expect(await members(id)).toEqual([]);
    const put = await scim.call('PUT', `/Groups/${id}`, {
      ...{ schemas: [], id, displayName: 'Okta 3', members: [{ value: ada }] },
    });
    expect(put).toMatchObject({ status: 200, body: { displayName: 'Okta 3', members: [{ value: ada }] } });
    const page = await scim.get('/Groups?startIndex=1&count=100');
    expect(page.Resources.find((group) => group.id === id)).toMatchObject({ members: [{ value: ada }] });
    expect(page).toMatchObject({ totalResults: page.Resources.length, itemsPerPage: page.Resources.length });
  });
});

describe('a group', () => {
  it('is changed as a whole or not at all', async () => {
    const { id } = await scim.add('Groups', { displayName: 'Whole', members: [{ value: ada }] });
    const before = await scim.get(`/Groups/${id}`);
    for (const value of ['00000000-0000-7000-8000-000000000000', 'ada', 7]) {
      const answer = await scim.patch(
        `/Groups/${id}`,
        { op: 'replace', value: { displayName: 'Other' } },
        { op: 'add', path: 'members', value: [{ value: bo }, { value }] },
      );
      expect(answer).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    }
    expect(await scim.get(`/Groups/${id}`)).toEqual(before);
    await other.add('Users', { userName: 'ada' });
    const foreign = (await other.found('Users', 'userName eq "ada"'))[0]?.id;
    const answer = await scim.patch(`/Groups/${id}`, {
      op: 'add',
      path: 'members',
      value: [{ value: foreign }],
    });
    expect(answer.status).toBe(400);
  });

  it('has one name and one external id, and is taken over from the API', async () => {
    await scim.put('cy', { groups: ['Shared'] });
    expect(await scim.found('Groups', 'displayName eq "Shared"')).toEqual([]);
    const shared = await scim.add('Groups', { displayName: 'SHARED', externalId: 'object-3' });
    expect(shared).toMatchObject({ members: [] });
    expect((await scim.user('cy')).groups).toEqual(['SHARED']);
    for (const body of [{ displayName: 'shared' }, { displayName: 'Another', externalId: 'object-3' }])
      expect(await scim.call('POST', '/Groups', body)).toMatchObject({
        ...{ status: 409, body: { scimType: 'uniqueness' } },
      });
    const { id } = await scim.add('Groups', { displayName: 'Unshared' });
    for (const value of [{ displayName: 'Shared' }, { externalId: 'object-3' }])
      expect((await scim.patch(`/Groups/${id}`, { op: 'replace', value })).status).toBe(409);
  });

  it('replaces and removes memberships from SCIM alone', async () => {
    await scim.put('bo', { groups: ['Sides'] });
    const { id } = await scim.add('Groups', {
      displayName: 'Sides',
      members: [{ value: ada }, { value: bo }],
    });
    expect(await members(id)).toEqual([ada, bo].sort());
    await scim.patch(`/Groups/${id}`, { op: 'replace', value: { members: [] } });
    expect(await members(id)).toEqual([]);
    expect((await scim.user('bo')).groups).toContain('Sides');
    expect((await scim.user('ada')).groups).not.toContain('Sides');
    await scim.put('bo', { groups: [] });
    expect((await scim.user('bo')).groups).not.toContain('Sides');
  });

  it('that is deleted and added again is the same', async () => {
    const { id } = await scim.add('Groups', { displayName: 'Again', externalId: 'object-4' });
    await scim.patch(`/Groups/${id}`, { op: 'add', path: 'members', value: [{ value: ada }] });
    expect((await scim.call('DELETE', `/Groups/${id}`)).status).toBe(204);
    expect((await scim.call('GET', `/Groups/${id}`)).status).toBe(404);
    expect((await scim.user('ada')).groups).not.toContain('Again');
    const again = await scim.add('Groups', { displayName: 'Again, renamed', externalId: 'object-4' });
    expect(again).toMatchObject({ id, members: [] });
  });

  it('is found by its id, external id and members', async () => {
    const { id } = await scim.add('Groups', {
      ...{ displayName: 'Found', externalId: 'object-5', members: [{ value: ada }] },
    });
    for (const filter of [
      ...[`id eq "${id}"`, 'externalId eq "object-5"', `members eq "${ada}" and displayName eq "found"`],
      `id eq "${id}" and members[value eq "${ada}"]`,
    ])
      expect((await scim.found('Groups', filter)).map((group) => group.id)).toEqual([id]);
    expect(await scim.found('Groups', `id eq "${id}" and members.value eq "${bo}"`)).toEqual([]);
    expect(await other.found('Groups', `id eq "${id}"`)).toEqual([]);
    expect((await other.patch(`/Groups/${id}`, { op: 'replace', value: { displayName: 'x' } })).status).toBe(
      404,
    );
    expect((await other.call('DELETE', `/Groups/${id}`)).status).toBe(404);
  });

  it('takes 1,000 members at once, and a user no more than 100 groups', async () => {
    const large = new ScimClient(service, await service.makeTenant());
    const { id: first } = await large.add('Users', { userName: 'first' });
    const rows = await service.rows<{ id: string }>(
      `insert into tenant.users (id, tenant_id, user_id, source, scim)
       select gen_random_uuid(), $1, 'u' || n, 'scim', '{"userName": "u", "name": null, "emails": [], "email": null}'::jsonb
       from generate_series(1, 1000) as n returning id`,
      [large.tenant.id],
    );
    const { id } = await large.add('Groups', { displayName: 'Large' });
    const value = rows.map((row) => ({ value: row.id }));
    expect((await large.patch(`/Groups/${id}`, { op: 'add', path: 'members', value })).status).toBe(204);
    expect(await members(id, large)).toEqual(rows.map((row) => row.id).sort());
    const counted = 'select members from tenant.groups where id = $1';
    expect(await service.rows(counted, [id])).toEqual([{ members: 1_000 }]);
    await large.patch(`/Groups/${id}`, { op: 'remove', path: 'members', value: value.slice(1) });
    expect(await service.rows(counted, [id])).toEqual([{ members: 1 }]);

    await service.rows(
      `with many as (
         insert into tenant.groups (id, tenant_id, name, folded)
         select gen_random_uuid(), $1, 'g' || n, 'g' || n from generate_series(1, 100) as n returning id)
       insert into tenant.group_members (group_id, person_id, tenant_id, sources)
       select id, $2, $1, '{api}' from many`,
      [large.tenant.id, first],
    );
    const answer = await large.patch(`/Groups/${id}`, {
      op: 'add',
      path: 'members',
      value: [{ value: first }],
    });
    expect(answer).toMatchObject({ status: 403, body: { status: '403' } });
  });

  it('is in the audit log with each change', async () => {
    const { id } = await scim.add('Groups', { displayName: 'Log' });
    await scim.patch(`/Groups/${id}`, { op: 'add', path: 'members', value: [{ value: ada }] });
    await scim.call('DELETE', `/Groups/${id}`);
    const entries = await service.rows(
      `select action, actor_key_id as key, after ->> 'members' as members from tenant.audit_log
       where resource_id = $1 order by id`,
      [id],
    );
    const key = tenant.admin.keyId;
    expect(entries).toEqual([
      { action: 'group.created', key, members: '0' },
      { action: 'group.updated', key, members: '1' },
      { action: 'group.deleted', key, members: null },
    ]);
  });
});
