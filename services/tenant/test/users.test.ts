import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PutUser, User } from '@gatehouse/contract/users';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import type { ResolveUserResponse } from '@gatehouse/proto/tenant/v1/tenant';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { eventually } from '@gatehouse/test/eventually';
import { testRewrapJob } from '@gatehouse/test/rewrap-job';
import type { Answer } from '@gatehouse/test/service-under-test';
import { hashColumns } from '../src/sealed-columns.ts';
import { UserStore, type UserFilter } from '../src/users/user-store.ts';
import { TenantServiceUnderTest, type AnswerBody, type TestTenant } from './tenant-service.ts';

let service: TenantServiceUnderTest;
let tenant: TestTenant;
let other: TestTenant;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  [tenant, other] = [await service.makeTenant(), await service.makeTenant()];
});
afterAll(() => service.stop());

const call = (method: string, name: string, body?: PutUser, of = tenant): Promise<Answer<AnswerBody>> =>
  service.call(method, `/v1/users/${encodeURIComponent(name)}`, {
    as: of.admin,
    ...(body !== undefined && { body }),
  });
/** The user after a change. */
async function put(name: string, body: PutUser = {}, of = tenant): Promise<User> {
  const answer = await call('PUT', name, body, of);
  expect([200, 201]).toContain(answer.status);
  return answer.body as unknown as User;
}
const get = async (name: string, of = tenant): Promise<User> =>
  (await call('GET', name, undefined, of)).body as unknown as User;
const listed = async (query: string, of = tenant) =>
  (await service.call('GET', `/v1/users?${query}`, { as: of.admin })).body as unknown as {
    data: User[];
    has_more: boolean;
    next_cursor: string | null;
  };
const idsOf = ({ data }: { data: User[] }) => data.map((user) => user.user_id).toSorted();
const groups = async (of = tenant) =>
  (await service.call('GET', '/v1/groups', { as: of.admin })).body.data as unknown as { name: string }[];
async function resolve(name: string, of = tenant): Promise<ResolveUserResponse['user']> {
  const edge = await service.peer('edge');
  return (await edge.call('resolveUser', { tenantId: of.id, name }, { deadlineMs: 5_000 })).user;
}

describe('a user', () => {
  it('is made by the first PUT, and later ones change what they name', async () => {
    const made = await put('ada', {
      ...{ aliases: ['Ada@example.com', 'tg:7'], display_name: 'Ada', emails: ['ada@example.com'] },
      groups: ['Engineering', 'Berlin'],
    });
    expect(made).toEqual({
      ...{ user_id: 'ada', aliases: ['Ada@example.com', 'tg:7'], display_name: 'Ada' },
      ...{ emails: ['ada@example.com'], groups: ['Berlin', 'Engineering'], status: 'active', blocked_by: [] },
      ...{ source: 'api', external_id: null, last_seen_at: null },
      ...{ created_at: expect.any(String), updated_at: expect.any(String) },
    });
    const changed = await put('ADA', { groups: ['engineering', 'Oslo'], display_name: null });
    expect(changed).toMatchObject({
      ...{ user_id: 'ada', aliases: made.aliases, display_name: null, emails: made.emails },
      groups: ['Engineering', 'Oslo'],
    });
    expect(await get('ada@EXAMPLE.com')).toEqual(changed);
    expect(await put('tg:7', { aliases: ['tg:7'] })).toMatchObject({ user_id: 'ada', aliases: ['tg:7'] });
    expect((await call('GET', 'ada@example.com')).status).toBe(404);
  });

  it('is 201 for a new user and 200 for a changed one, by any name', async () => {
    const statuses = async (...names: string[]): Promise<number[]> => {
      const found: number[] = [];
      for (const name of names) found.push((await call('PUT', name, { aliases: ['ines@a.example'] })).status);
      return found;
    };
    expect(await statuses('ines', 'ines', 'INES@a.example')).toEqual([201, 200, 200]);
    await call('DELETE', 'ines');
    expect(await statuses('ines')).toEqual([201]);
    // The block of a deleted user is found by its name.
    await call('PUT', 'ines', { status: 'blocked' });
    await call('DELETE', 'ines');
    expect((await call('PUT', 'ines', { status: 'active' })).status).toBe(200);
  });

  it('is invisible to another tenant, which may have the same names', async () => {
    await put('eve', { aliases: ['e1'], groups: ['Secret'] });
    for (const method of ['GET', 'DELETE']) {
      const answer = await call(method, 'e1', undefined, other);
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
    expect(await put('e1', { groups: ['secret'] }, other)).toMatchObject({ user_id: 'e1', aliases: [] });
    expect(await resolve('e1', other)).toMatchObject({ userId: 'e1', groups: [{ name: 'secret' }] });
    expect(await resolve('e1')).toMatchObject({ userId: 'eve', groups: [{ name: 'Secret' }] });
    expect(idsOf(await listed('group=secret', other))).toEqual(['e1']);
  });

  it('has names that no one else has, in any case', async () => {
    await put('mia', { aliases: ['mia@a.example'] });
    await put('max');
    for (const alias of ['mia', 'MIA@a.example']) {
      const refused = await call('PUT', 'max', { aliases: [alias] });
      expect(refused).toMatchObject({
        status: 409,
        body: { error: { code: 'user_name_taken', param: 'aliases' } },
      });
      expect(JSON.stringify(refused.body)).not.toContain('mia');
    }
    const many = Array.from({ length: 9 }, (_, n) => `max-${n}`);
    expect(await call('PUT', 'max', { aliases: many })).toMatchObject({ status: 400 });
    expect(await put('max', { aliases: many.slice(1) })).toMatchObject({ aliases: many.slice(1) });
  });

  it('is not changed by a dry run', async () => {
    const answer = await service.call('PUT', '/v1/users/dry?dry_run=true', {
      ...{ as: tenant.admin, body: { groups: ['Dry'] } },
    });
    expect(answer).toMatchObject({ status: 201, body: { user_id: 'dry', groups: ['Dry'] } });
    expect((await call('GET', 'dry')).status).toBe(404);
    expect((await groups()).some(({ name }) => name === 'Dry')).toBe(false);
  });

  it('needs the scope users.write', async () => {
    const as = { ...tenant.admin, scopes: ['keys.write' as const] };
    for (const [method, path] of [
      ['GET', '/v1/users'],
      ['GET', '/v1/groups'],
      ['PUT', '/v1/users/ada'],
      ['DELETE', '/v1/users/ada'],
    ] as const) {
      const answer = await service.call(method, path, { as, ...(method === 'PUT' && { body: {} }) });
      expect(answer).toMatchObject({ status: 403, body: { error: { code: 'scope_missing' } } });
    }
  });
});

describe('lists', () => {
  let many: TestTenant;
  beforeAll(async () => {
    many = await service.makeTenant();
    for (let n = 0; n < 6; n += 1)
      await put(`user-${n}`, { display_name: `Nr ${n}`, groups: n % 2 === 0 ? ['Even'] : ['Odd'] }, many);
    await put('user-4', { status: 'blocked', aliases: ['four'] }, many);
  });

  it('find users by group, status and the beginning of a name', async () => {
    expect(idsOf(await listed('group=even', many))).toEqual(['user-0', 'user-2', 'user-4']);
    expect(idsOf(await listed('status=blocked', many))).toEqual(['user-4']);
    expect(idsOf(await listed('status=active&group=Even', many))).toEqual(['user-0', 'user-2']);
    expect(idsOf(await listed('q=FOU', many))).toEqual(['user-4']);
    expect(idsOf(await listed('q=nr%205', many))).toEqual(['user-5']);
    expect(idsOf(await listed('q=user-&group=odd', many))).toEqual(['user-1', 'user-3', 'user-5']);
    expect(idsOf(await listed('q=user-&status=blocked', many))).toEqual(['user-4']);
    expect(idsOf(await listed('status=blocked&group=even', many))).toEqual(['user-4']);
    expect(idsOf(await listed('status=blocked&group=odd', many))).toEqual([]);
    expect(idsOf(await listed('q=user-&group=even&status=active', many))).toEqual(['user-0', 'user-2']);
    expect(idsOf(await listed('q=nr&group=even&status=blocked', many))).toEqual(['user-4']);
    expect(idsOf(await listed('group=missing', many))).toEqual([]);
    expect(idsOf(await listed('q=%25', many))).toEqual([]);
  });

  it.each(['', 'group=even&', 'status=active&', 'q=user&', 'status=active&group=odd&', 'q=user&group=odd&'])(
    'have pages: %s',
    async (filter) => {
      const whole = (await listed(filter.slice(0, -1), many)).data;
      const paged: User[] = [];
      let cursor: string | null = null;
      do {
        const next = cursor === null ? '' : `&cursor=${cursor}`;
        const page = await listed(`${filter}limit=2${next}`, many);
        paged.push(...page.data);
        cursor = page.next_cursor;
        expect(page.has_more).toBe(cursor !== null);
      } while (cursor !== null);
      expect(paged).toEqual(whole);
      expect(whole.length).toBeGreaterThan(2);
    },
  );

  it('of a group with many members and another filter have pages, and read what each needs', async () => {
    const { id } = await service.makeTenant();
    const idOf = (n: number): string => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`;
    // Each fifth one of 12,000 has another name, and the oldest three are blocked.
    await service.rows(
      `with made as (
         insert into tenant.users (id, tenant_id, user_id, display_name, source, blocked_by)
         select ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, 'u-' || n,
           case n % 5 when 0 then 'Fifth ' else 'Other ' end || n, 'api',
           case when n <= 3 then array['api'] else '{}' end
         from generate_series(1, 12000) as n returning id, tenant_id, user_id),
       named as (
         insert into tenant.user_names (tenant_id, folded, person_id) select tenant_id, user_id, id from made)
       insert into tenant.groups (id, tenant_id, name, folded) values (gen_random_uuid(), $1, 'Big', 'big')`,
      [id],
    );
    // Each member changes the row of the group, which takes longer the more of them a transaction has.
    for (let from = 0; from < 12_000; from += 1_000)
      await service.rows(
        `insert into tenant.group_members (group_id, person_id, tenant_id, sources)
         select groups.id, users.id, users.tenant_id, array['api']
         from tenant.groups join tenant.users using (tenant_id)
         where tenant_id = $1 and users.id > $2 and users.id <= $3`,
        [id, idOf(from), idOf(from + 1_000)],
      );
    const log = createLogger('test', 'silent');
    const pool = createPool({ url: service.database.url, role: 'tenant_app', max: 1, log });
    const store = new UserStore(pool);
    const page = async (filter: Partial<UserFilter>) => {
      const all = { group: 'big', isBlocked: null, q: null, before: null, limit: 2 };
      const { rows, lookedTo } = await store.list(id, { ...all, ...filter });
      return [...rows.map(({ userId }) => userId), lookedTo === null ? null : Number(lookedTo.slice(-12))];
    };
    expect(await page({ isBlocked: false })).toEqual(['u-12000', 'u-11999', 'u-11998', null]);
    expect(await page({ isBlocked: true })).toEqual(['u-3', 'u-2', 'u-1', null]);
    expect(await page({ q: 'fifth' })).toEqual(['u-12000', 'u-11995', 'u-11990', null]);
    // More names than are looked up.
    expect(await page({ q: 'u-', isBlocked: false })).toEqual(['u-12000', 'u-11999', 'u-11998', null]);
    expect(await page({ q: 'u-', isBlocked: true })).toEqual(['u-3', 'u-2', 'u-1', null]);
    expect(await page({ q: 'u-', isBlocked: false, before: idOf(10_002) })).toEqual([
      'u-10001',
      'u-10000',
      'u-9999',
      null,
    ]);
    expect(await page({ q: 'u', group: 'none' })).toEqual([null]);
    // All 10,000 members are blocked: the next page continues after them.
    await service.rows(`update tenant.users set blocked_by = '{api}' where tenant_id = $1 and id > $2`, [
      ...[id, idOf(2_000)],
    ]);
    expect(await page({ isBlocked: false })).toEqual([2001]);
    expect(await page({ isBlocked: false, before: idOf(2_001) })).toEqual([
      'u-2000',
      'u-1999',
      'u-1998',
      null,
    ]);
    await pool.end();
  });

  it('count the members of groups', async () => {
    const names = { name: 'Even', external_id: null, members: 3 };
    expect(await groups(many)).toEqual(expect.arrayContaining([names, { ...names, name: 'Odd' }]));
    await put('user-0', { groups: [] }, many);
    expect(await groups(many)).toContainEqual({ ...names, members: 2 });
    await put('user-0', { groups: ['even'] }, many);
  });
});

describe('a blocked user', () => {
  it('is refused under every name, loses sessions, and comes back with its keys', async () => {
    await put('bob', { aliases: ['bob@example.com'] });
    const key = await service.makeKey(tenant.admin, { user_id: 'BOB@example.com' });
    await service.rows(
      `insert into tenant.sessions (id, tenant_id, token_sha256, key_id, key_secret_sha256, name, role, scopes, user_id,
         expires_at, ends_at, opened_by)
       select gen_random_uuid(), tenant_id, sha256(key_id::bytea), id, secret_sha256, 'S', 'user', '{}', user_id,
         now() + interval '1 hour', now() + interval '1 hour', 'key'
       from tenant.api_keys where id = $1`,
      [key.id],
    );
    const open = () =>
      service.rows('select from tenant.sessions where key_id = $1 and ends_at > now()', [key.id]);
    expect(await open()).toHaveLength(1);
    expect(await put('bob@example.com', { status: 'blocked' })).toMatchObject({
      ...{ user_id: 'bob', status: 'blocked', blocked_by: ['api'] },
    });
    for (const name of ['bob', 'Bob@Example.com'])
      expect(await resolve(name)).toMatchObject({ userId: 'bob', blocked: true });
    expect(await open()).toHaveLength(0);
    const authenticated = await service.authenticate(key.key);
    expect(authenticated.result?.value).toMatchObject({ userId: 'bob', hasUsers: true });
    expect(await put('bob', { status: 'active' })).toMatchObject({ status: 'active', blocked_by: [] });
    expect(await resolve('bob@example.com')).toMatchObject({ userId: 'bob', blocked: false });
  });

  it('stays blocked by SCIM when the API lifts its own block', async () => {
    await put('sam', { status: 'blocked' });
    await service.rows(`update tenant.users set blocked_by = '{api,scim}' where user_id = 'sam'`);
    expect(await put('sam', { status: 'active' })).toMatchObject({ status: 'blocked', blocked_by: ['scim'] });
  });

  it('leaves its block alone under hashes once deleted, and its keys are revoked', async () => {
    await put('zoe', { aliases: ['zoe@example.com'], display_name: 'Zoe Canary', groups: ['Berlin'] });
    const key = await service.makeKey(tenant.admin, { user_id: 'Zoe' });
    await put('zoe', { status: 'blocked' });
    expect((await call('DELETE', 'zoe@example.com')).status).toBe(204);
    for (const name of ['zoe', 'zoe@example.com'])
      expect(await get(name)).toMatchObject({
        ...{ user_id: name, status: 'blocked', blocked_by: ['api'], aliases: [], groups: [] },
        display_name: null,
      });
    for (const name of ['ZOE', 'zoe@example.com'])
      expect(await resolve(name)).toMatchObject({ blocked: true });
    expect(await resolve('zoe', other)).toBeUndefined();
    const [stored] = await service.rows<{ text: string }>(
      `select (select json_agg(u) from tenant.users u)::text || (select json_agg(n) from tenant.user_names n)::text as text`,
    );
    expect(stored?.text).not.toMatch(/zoe/i);
    expect(idsOf(await listed('q=z'))).toEqual([]);
    const revoked = await service.call('GET', `/v1/api-keys/${key.id}`, { as: tenant.admin });
    expect(revoked.body.status).toBe('revoked');
    // No one else gets the name, and a second deletion changes nothing.
    expect(await call('PUT', 'max', { aliases: ['Zoe@example.com'] })).toMatchObject({ status: 409 });
    expect((await call('DELETE', 'zoe')).status).toBe(204);
    expect(await put('zoe')).toMatchObject({ user_id: 'zoe', status: 'blocked', groups: [] });
    expect(await put('zoe', { status: 'active' })).toMatchObject({ status: 'active' });
    expect(await resolve('zoe@example.com')).toMatchObject({ userId: 'zoe', blocked: false });
  });

  it('is forgotten with its data, and its block is not', async () => {
    await put('kim', { aliases: ['kim@example.com'], status: 'blocked' });
    await put('lea', { aliases: ['lea@example.com'] });
    for (const name of ['kim@example.com', 'lea@example.com']) {
      const path = `/v1/users/${encodeURIComponent(name)}/data`;
      expect((await service.call('DELETE', path, { as: tenant.admin })).status).toBe(202);
    }
    expect(await resolve('kim')).toMatchObject({ blocked: true });
    expect(await resolve('lea')).toBeUndefined();
  });
});

it('blocks of deleted users are counted by the keys of their hashes', async () => {
  const { url } = service.database;
  const system = createPool({ url, role: 'tenant_system', max: 1, log: createLogger('test', 'silent') });
  const keyRing = KeyRing.parse(`${newKeyRing('added')},${service.identity.keyRing}`);
  const { left } = testRewrapJob({
    ...{ service: 'tenant', columns: [], hashes: hashColumns },
    system,
    keyRing,
  });
  const counted = async (): Promise<number> => (await left())['user_names'] ?? 0;
  const before = await counted();
  await put('nia', { aliases: ['nia@example.com'], status: 'blocked' });
  expect(await counted()).toBe(before);
  await call('DELETE', 'nia');
  expect(await counted()).toBe(before + 2);
  // The first request that names the user again has the name stored.
  await put('nia', { aliases: ['nia@example.com'] });
  expect(await counted()).toBe(before);
  await system.end();
});

describe('the audit log', () => {
  it('has changes of users by a keyed hash, without their names and addresses', async () => {
    await put('quokka-1', {
      aliases: ['quokka@example.com'],
      display_name: 'Quokka',
      emails: ['q@quokka.example'],
    });
    await put('quokka-1', { groups: ['Berlin'] });
    await call('DELETE', 'quokka-1');
    const { body } = await service.call('GET', '/v1/audit-log', { as: tenant.admin });
    const entries = body.data as unknown as { action: string; after: object | null }[];
    expect(JSON.stringify(entries)).not.toMatch(/quokka/i);
    expect(entries.slice(0, 3).map(({ action }) => action)).toEqual([
      'user.deleted',
      'user.updated',
      'user.created',
    ]);
    expect(entries[1]?.after).toMatchObject({ user_hash: expect.any(String), groups: ['Berlin'] });
  });
});

describe('ResolveUser', () => {
  it('returns nothing for names outside the directory, of no form, and of other tenants', async () => {
    for (const name of ['nobody', '', 'ä', 'x'.repeat(256)]) expect(await resolve(name)).toBeUndefined();
  });

  it('notes when a user was seen', async () => {
    await put('seen');
    await resolve('seen');
    await eventually(async () => expect((await get('seen')).last_seen_at).not.toBeNull(), 20_000);
  });

  it('changes are listed for names, users and groups', async () => {
    const edge = await service.peer('edge');
    const list = (position: string) => edge.call('listChanges', { position }, { deadlineMs: 5_000 });
    const changesOf = async (work: () => Promise<unknown>): Promise<string[]> => {
      const { position } = await list('');
      await work();
      return (await list(position)).subjects;
    };
    const fresh = await service.makeTenant();
    const made = await changesOf(() => put('ida', {}, fresh));
    const user = await resolve('ida', fresh);
    const names = await service.rows<{ subject: string }>(
      `select encode(sha256(convert_to($1 || ' ida', 'UTF8')), 'hex') as subject`,
      [fresh.id],
    );
    expect(made).toEqual(expect.arrayContaining([fresh.id, user?.id, names[0]?.subject]));
    expect(await changesOf(() => put('ida', { groups: ['G'] }, fresh))).toEqual([user?.id]);
    const [group] = (await resolve('ida', fresh))?.groups ?? [];
    const rename = `update tenant.groups set name = 'H', folded = 'h' where id = $1`;
    expect(await changesOf(() => service.rows(rename, [group?.id]))).toEqual([group?.id]);
  });
});
