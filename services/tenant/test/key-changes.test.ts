import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiKey } from '@gatehouse/contract/keys';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import type { As } from '@gatehouse/test/service-under-test';
import { Client } from 'pg';
import { Programs } from './programs.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

/** Changes of keys: their names, scopes, toolsets and settings, and what depends on these. */

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;
beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  tenant = await tenants.makeTenant();
});
afterAll(() => tenants.stop());

interface KeyAnswer {
  status: number;
  body: ApiKey & { key: string; error: { code: string; param: string | null } };
}

async function call(method: string, path: string, as: As, body?: object): Promise<KeyAnswer> {
  return (await tenants.call(method, path, {
    as,
    ...(body !== undefined && { body }),
  })) as unknown as KeyAnswer;
}
const create = (fields: object = {}, as = tenant.admin) =>
  call('POST', '/v1/api-keys', as, { name: 'A key', role: 'user', ...fields });
const patch = (id: string, body: object, as = tenant.admin) => call('PATCH', `/v1/api-keys/${id}`, as, body);

/** The principal of a key as the edge gets it. */
async function principalOf(text: string) {
  const { result } = await tenants.authenticate(text);
  return result?.$case === 'key' ? result.value : undefined;
}

/** The scopes of the open session of a key. */
async function scopesOfSession(keyId: string): Promise<string[] | undefined> {
  const [session] = await tenants.rows<{ scopes: string[] }>(
    'select scopes from tenant.sessions where key_id = $1 and ends_at > now()',
    [keyId],
  );
  return session?.scopes;
}

describe('toolsets and settings of a key', () => {
  it('are shown, and toolsets reach the edge', async () => {
    const made = await create({ toolsets: ['docs', 'support'], client_settings: 'laptops' });
    expect(made.body).toMatchObject({
      ...{ toolsets: ['docs', 'support'], client_settings: 'laptops', resource: null, client: null },
    });
    expect((await principalOf(made.body.key))?.toolsets).toEqual({ names: ['docs', 'support'] });
    const plain = await create();
    expect([plain.body.toolsets, plain.body.client_settings]).toEqual([null, null]);
    expect((await principalOf(plain.body.key))?.toolsets).toBeUndefined();
    const none = await create({ toolsets: [] });
    expect((await principalOf(none.body.key))?.toolsets).toEqual({ names: [] });
  });

  it('are those of the creator by default, and never more', async () => {
    const limited: As = { ...tenant.admin, toolsets: ['docs', 'support'] };
    expect((await create({}, limited)).body.toolsets).toEqual(['docs', 'support']);
    expect((await create({ toolsets: ['docs'] }, limited)).body.toolsets).toEqual(['docs']);
    for (const toolsets of [null, ['docs', 'other']]) {
      const { status, body } = await create({ toolsets }, limited);
      expect([status, body.error]).toMatchObject([403, { code: 'scope_missing', param: 'toolsets' }]);
    }
    const { body } = await create();
    const rotated = await call('POST', `/v1/api-keys/${body.id}/rotate`, limited, {});
    expect([rotated.status, rotated.body.error.param]).toEqual([403, 'toolsets']);
  });

  it.each<[object, string]>([
    [{ toolsets: ['Docs'] }, 'toolsets[0]'],
    [{ toolsets: Array.from({ length: 51 }, (_, n) => `t${n}`) }, 'toolsets'],
    [{ client_settings: '' }, 'client_settings'],
  ])('%j is refused', async (fields, param) => {
    const { status, body } = await create(fields);
    expect([status, body.error]).toMatchObject([400, { code: 'invalid_value', param }]);
  });

  it('are said by whoami', async () => {
    const whoami = async (as: As) => (await call('GET', '/v1/whoami', as)).body;
    expect(await whoami(tenant.admin)).toMatchObject({ toolsets: null, resource: null });
    expect(await whoami({ ...tenant.admin, toolsets: ['docs'] })).toMatchObject({ toolsets: ['docs'] });
  });
});

describe('a change of a key', () => {
  it('changes what it names, in the audit log too, and the edge learns of it', async () => {
    const { id, key } = (await create({ toolsets: ['docs'] })).body;
    const edge = await tenants.peer('edge');
    const changes = (position: string) => edge.call('listChanges', { position }, { deadlineMs: 5_000 });
    const { position } = await changes('');
    const changed = await patch(id, { name: 'Another name', toolsets: null });
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { id, name: 'Another name', toolsets: null, scopes: (await create()).body.scopes },
    ]);
    expect((await changes(position)).subjects).toContain(key.slice(4, 20));
    const [entry] = await tenants.rows<{ before: ApiKey; after: ApiKey }>(
      `select before, after from tenant.audit_log where action = 'api_key.updated' and resource_id = $1`,
      [id],
    );
    expect([entry?.before.toolsets, entry?.after.toolsets]).toEqual([['docs'], null]);
    await patch(id, { scopes: ['tools.call'] });
    expect((await principalOf(key))?.scopes).toEqual(['tools.call']);
  });

  it('gives no more than the role has, and than the changer could give', async () => {
    const { id } = (await create({ scopes: ['chat'] })).body;
    const beyond = await patch(id, { scopes: ['chat', 'keys.write'] });
    expect([beyond.status, beyond.body.error]).toMatchObject([
      400,
      { code: 'invalid_value', param: 'scopes' },
    ]);
    const lesser: As = { ...tenant.admin, scopes: ['keys.write', 'mcp.write'], toolsets: ['docs'] };
    const refused = await patch(id, { scopes: ['chat', 'agents.read'] }, lesser);
    expect([refused.status, refused.body.error.code]).toEqual([403, 'scope_missing']);
    expect((await patch(id, { toolsets: ['other'] }, lesser)).body.error.param).toBe('toolsets');
    // Scopes of its own, and calls of tools, which a key of servers gives.
    expect((await patch(id, { scopes: ['chat', 'tools.call'] }, lesser)).body.scopes).toEqual([
      'chat',
      'tools.call',
    ]);
    const bound: As = { ...tenant.admin, boundUser: 'ann' };
    expect((await patch(id, { scopes: [] }, bound)).body.error.code).toBe('user_mismatch');
    const widened = await patch(id, {}, { ...tenant.admin, scopes: ['chat'] });
    expect(widened.status).toBe(403);
  });

  it('reaches no key of another tenant', async () => {
    const { id } = (await create()).body;
    const other = await tenants.makeTenant();
    for (const one of [id, newId()]) expect((await patch(one, { name: 'x' }, other.admin)).status).toBe(404);
  });

  it('takes a scope from sessions though the key could still give it', async () => {
    const { id, key } = (await create({ role: 'admin', scopes: ['mcp.write', 'tools.call'] })).body;
    const programs = new Programs(tenants, tenant);
    const { key: program } = await programs.keyOf(await programs.logIn(key));
    await patch(id, { scopes: ['mcp.write'] });
    expect((await principalOf(program))?.scopes).toEqual(['mcp.write']);
    expect(await scopesOfSession(id)).toEqual(['mcp.write']);
  });

  it('takes a scope from a session whose login began before the change was committed', async () => {
    const { id, key } = (await create({ scopes: ['chat', 'memory.read'] })).body;
    const other = new Client({ connectionString: tenants.database.adminUrl });
    await other.connect();
    try {
      await other.query('begin');
      await other.query('select from tenant.api_keys where id = $1 for update', [id]);
      await other.query(`update tenant.api_keys set scopes = '{chat}' where id = $1`, [id]);
      const login = new Programs(tenants, tenant).logIn(key);
      await eventually(async () => {
        const waiting = await tenants.rows(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        expect(waiting).toHaveLength(1);
      });
      await other.query('commit');
      await login;
    } finally {
      await other.end();
    }
    expect(await scopesOfSession(id)).toEqual(['chat']);
  });

  it('takes from sessions, and from keys made with it, what it takes from the key', async () => {
    const { id, key } = (await create({ user_id: 'ann', toolsets: ['docs'] })).body;
    const programs = new Programs(tenants, tenant);
    const cookie = await programs.logIn(key);
    const { key: program } = await programs.keyOf(cookie);
    expect((await principalOf(program))?.toolsets).toEqual({ names: ['docs'] });
    const personal: As = { ...tenant.admin, role: 'user', keyId: id, boundUser: 'ann', userId: 'ann' };
    const own = await call('POST', '/v1/me/api-keys', personal, { name: 'Own', scopes: ['memory.read'] });
    expect([own.status, own.body.toolsets]).toEqual([201, ['docs']]);
    await patch(id, { scopes: ['chat', 'memory.write'], toolsets: ['docs', 'support'] });
    // A scope to write includes reading.
    const left = ['chat', 'memory.read', 'memory.write'];
    expect(await principalOf(program)).toMatchObject({
      ...{ scopes: left, toolsets: { names: ['docs', 'support'] } },
    });
    expect((await principalOf(own.body.key))?.scopes).toEqual(['memory.read']);
    expect(await scopesOfSession(id)).toEqual(left);
    for (const text of [program, own.body.key]) {
      const { status, body } = await patch(await programs.idOf(text), { scopes: [] });
      expect([status, body.error.code]).toEqual([409, 'key_managed_by_login']);
    }
  });
});
