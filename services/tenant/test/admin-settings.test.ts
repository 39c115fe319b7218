import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { As } from '@gatehouse/test/service-under-test';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;
beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  tenant = await tenants.makeTenant();
});
afterAll(() => tenants.stop());

const path = '/v1/tenant/settings';
const get = (as: As) => tenants.call('GET', path, { as });
const patch = (as: As, body: object) => tenants.call('PATCH', path, { as, body });

describe('the settings of a tenant', () => {
  it('that are its own are read and changed by its admins, with an entry in the audit log', async () => {
    const defaults = {
      timezone: 'UTC',
      previews: { enabled: true, max_chars: 500 },
      content: 'previews',
      user_keys: { enabled: true, max: 5, max_days: 90 },
      acting_users: 'any',
      scim_user_id: 'externalId',
    };
    expect((await get(tenant.admin)).body).toEqual(defaults);
    const body = {
      ...{ timezone: 'Europe/Berlin', previews: { enabled: false }, user_keys: { max: 2, max_days: 7 } },
    };
    const changed = await patch(tenant.admin, body);
    expect([changed.status, changed.body]).toEqual([
      200,
      {
        timezone: 'Europe/Berlin',
        previews: { enabled: false, max_chars: 500 },
        content: 'off',
        user_keys: { enabled: true, max: 2, max_days: 7 },
        acting_users: 'any',
        scim_user_id: 'externalId',
      },
    ]);
    expect((await get(tenant.admin)).body).toEqual(changed.body);
    const seen = await tenants.call('GET', `/internal/v1/owner/tenants/${tenant.id}`);
    expect(seen.body).toMatchObject({ ...changed.body, slug: tenant.slug, status: 'active' });
    const [entry] = await tenants.rows(
      `select actor_key_id, before -> 'timezone' as before, after -> 'timezone' as after
       from tenant.audit_log where tenant_id = $1 and action = 'tenant.updated'`,
      [tenant.id],
    );
    expect(entry).toEqual({ actor_key_id: tenant.admin.keyId, before: 'UTC', after: 'Europe/Berlin' });
    expect((await tenants.settings(tenant.id)).retentionDays).toBe(90);
    // The zone in which pages show days and times.
    const limits = await tenants.call('GET', '/v1/limits', { as: tenant.admin });
    expect(limits.body).toMatchObject({ timezone: 'Europe/Berlin' });
  });

  it('say which texts of runs are stored, for other services too', async () => {
    const { admin, id } = await tenants.makeTenant();
    const full = await patch(admin, { content: 'full', previews: { max_chars: 100 } });
    expect(full.body).toMatchObject({ content: 'full', previews: { enabled: true, max_chars: 100 } });
    expect(await tenants.settings(id)).toMatchObject({ contentFull: true, previewsEnabled: true });
    const off = await tenants.call('PATCH', `/internal/v1/owner/tenants/${id}`, { body: { content: 'off' } });
    expect(off.body).toMatchObject({ content: 'off', previews: { enabled: false, max_chars: 100 } });
    expect(await tenants.settings(id)).toMatchObject({ contentFull: false, previewsEnabled: false });
    const refused = await patch(admin, { content: 'full', previews: { enabled: false } });
    expect([refused.status, refused.body.error]).toMatchObject([
      400,
      { code: 'invalid_value', param: 'content' },
    ]);
    expect((await get(admin)).body).toMatchObject({ content: 'off' });
  });

  it('store no content once a replica of the release before has disabled previews', async () => {
    const { admin, id } = await tenants.makeTenant();
    await patch(admin, { content: 'full' });
    for (const enabled of [false, true]) {
      await tenants.rows('update tenant.tenants set previews_enabled = $2 where id = $1 returning id', [
        id,
        enabled,
      ]);
      expect((await get(admin)).body).toMatchObject({ content: enabled ? 'previews' : 'off' });
    }
  });

  it('of the owner are not theirs', async () => {
    for (const body of [{ budget: null }, { status: 'active' }, { retention_days: 1 }])
      expect((await patch(tenant.admin, body)).body.error.code).toBe('unknown_parameter');
    const other = await tenants.makeTenant();
    await patch(other.admin, { timezone: 'Asia/Tokyo' });
    expect((await get(tenant.admin)).body).not.toMatchObject({ timezone: 'Asia/Tokyo' });
  });

  it('are not for users, and none that the database does not know', async () => {
    const user: As = { ...tenant.admin, role: 'user', scopes: ['chat'] };
    expect([(await get(user)).status, (await patch(user, {})).status]).toEqual([403, 403]);
    const refused = await patch(tenant.admin, { timezone: 'US/Pacific-New' });
    expect(refused.body.error).toMatchObject({ code: 'invalid_value', param: 'timezone' });
  });
});
