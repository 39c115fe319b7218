import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scopesOf } from '@gatehouse/contract/scopes';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import type { As } from '@gatehouse/test/service-under-test';
import { columnsWith } from '@gatehouse/test/columns-with';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';
import { UserDataClient } from './user-data.ts';

let service: TenantServiceUnderTest;
let users: UserDataClient;
let tenant: TestTenant;
beforeAll(async () => {
  service = await TenantServiceUnderTest.start();
  users = new UserDataClient(service);
  tenant = await service.makeTenant();
});
afterAll(() => service.stop());

const rows = (sql: string, values?: unknown[]) => service.rows(sql, values);

describe('rights', () => {
  it('are those of admin keys, whatever their scopes', async () => {
    const { id } = await users.start(tenant, 'jo');
    for (const as of [{ ...tenant.admin, role: 'user' as const }, { role: 'owner' as const }]) {
      for (const answer of [await users.delete(as, 'jo'), await users.get(as, 'jo', id)]) {
        expect(answer.status).toBe(403);
        expect(answer.body.error.code).toBe('role_missing');
      }
    }
    expect((await users.delete({ ...tenant.admin, scopes: ['chat'] }, 'jo')).status).toBe(202);
  });

  it('of a key that is bound to a user are for that user alone', async () => {
    const bound = { ...tenant.admin, boundUser: 'kim', userId: 'kim' };
    const own = await users.delete(bound, 'kim');
    expect(own.status).toBe(202);
    await users.untilCompleted(tenant, 'kim', own.body.id);
    // Its acting user is not in the audit log either.
    await eventually(async () => expect(await columnsWith(rows, 'kim')).toEqual([]));
    const { id } = await users.start(tenant, 'lea');
    for (const answer of [await users.delete(bound, 'lea'), await users.get(bound, 'lea', id)]) {
      expect(answer.status).toBe(403);
      expect(answer.body.error).toMatchObject({ code: 'user_mismatch', param: 'user_id' });
    }
  });

  it('are those of the session of a user too, for their own data', async () => {
    const session = { ...tenant.admin, role: 'user' as const, scopes: scopesOf('user'), sessionId: newId() };
    const noa = { ...session, boundUser: 'noa', userId: 'noa' };
    const own = await users.delete(noa, 'noa');
    expect(own.status).toBe(202);
    await users.untilCompleted(tenant, 'noa', own.body.id);
    expect((await users.get(noa, 'noa', own.body.id)).body.status).toBe('completed');
    const entries = await rows(
      `select action, actor_role as role, actor_user_id as "user" from tenant.audit_log where resource_id = $1`,
      [own.body.id],
    );
    expect(entries).toEqual([{ action: 'user_data.deletion_requested', role: 'user', user: null }]);

    const { id } = await users.start(tenant, 'oli');
    const { sessionId: _, ...withKey } = noa;
    const refusals: [As, string, string][] = [
      [noa, 'oli', 'user_mismatch'],
      // The user that a request names is not the one of its session.
      [{ ...session, boundUser: null, userId: 'oli' }, 'oli', 'role_missing'],
      [{ ...noa, boundUser: 'oli', scopes: ['chat', 'cookies.write'] }, 'oli', 'scope_missing'],
      [{ ...noa, boundUser: 'oli', scopes: ['chat', 'memory.write'] }, 'oli', 'scope_missing'],
      [{ ...withKey, boundUser: 'oli' }, 'oli', 'role_missing'],
    ];
    for (const [as, userId, code] of refusals)
      for (const answer of [await users.delete(as, userId), await users.get(as, userId, id)])
        expect([answer.status, answer.body.error.code]).toEqual([403, code]);
    const other = await service.makeTenant();
    const foreign = { ...noa, tenantId: other.id, tenantSlug: other.slug };
    expect((await users.get(foreign, 'noa', own.body.id)).status).toBe(404);
  });

  it('let a user start a deletion once in ten minutes, and an admin as often as they want', async () => {
    const session = { ...tenant.admin, role: 'user' as const, scopes: scopesOf('user'), sessionId: newId() };
    const pia = { ...session, boundUser: 'pia', userId: 'pia' };
    const { body } = await users.delete(pia, 'pia');
    for (const isOver of [false, true]) {
      if (isOver) await users.untilCompleted(tenant, 'pia', body.id);
      const again = await users.delete(pia, 'pia');
      expect([again.status, again.body.error.code]).toEqual([429, 'rate_limit_exceeded']);
      expect(again.headers.get('retry-after')).toBe('600');
      expect((await users.delete({ ...pia, boundUser: 'quinn' }, 'quinn')).status).toBe(isOver ? 429 : 202);
    }
    await rows(`update tenant.user_deletions set requested_at = requested_at - interval '10 minutes'`);
    expect((await users.delete(pia, 'pia')).status).toBe(202);
    for (let count = 0; count < 2; count += 1)
      expect((await users.delete(tenant.admin, 'pia')).status).toBe(202);
  });

  it('end at the tenant: a foreign deletion is like one that does not exist', async () => {
    const { id } = await users.start(tenant, 'mia');
    const other = await service.makeTenant();
    const missing = async (userId: string, wanted: string) => {
      const { status, body } = await users.get(other.admin, userId, wanted);
      return { status, ...body.error, request_id: '' };
    };
    expect(await missing('mia', id)).toEqual(await missing('mia', newId()));
    expect(await missing('mia', 'no-id')).toMatchObject({ status: 404, code: 'not_found' });
    // A deletion is below its own user.
    expect((await users.get(tenant.admin, 'max', id)).status).toBe(404);
    expect((await users.get(tenant.admin, 'mia', id)).status).toBe(200);
  });
});

describe('the user id', () => {
  it.each(['a/b', 'a b', '100%', 'zalo_oa:1:%2F', "o'hara", '"}{', '?#&', 'x'.repeat(255), '~'])(
    'may be %j',
    async (userId) => {
      const { id } = await users.start(tenant, userId);
      await users.untilCompleted(tenant, userId, id);
      expect(service.others.callsFor(userId, 'chat')).toHaveLength(1);
    },
  );

  it.each(['é', 'a\nb', '\u007f', 'x'.repeat(256), '👋'])('may not be %j', async (userId) => {
    const answer = await users.delete(tenant.admin, userId);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: 'invalid_value', param: 'user_id' });
    expect(service.others.callsFor(userId)).toEqual([]);
  });
});

it('a tenant has at most 10,000 running deletions', async () => {
  const full = await service.makeTenant();
  await service.rows(
    `insert into tenant.user_deletions (id, tenant_id, user_id, user_hash)
     select gen_random_uuid(), $1, 'user ' || n, 'hash' from generate_series(1, 10000) as n`,
    [full.id],
  );
  const answer = await users.delete(full.admin, 'one more');
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '60']);
  expect(answer.body.error.code).toBe('rate_limit_exceeded');
  await service.rows('delete from tenant.user_deletions where tenant_id = $1', [full.id]);
  expect((await users.delete(full.admin, 'one more')).status).toBe(202);
});
