import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
beforeAll(async () => {
  gateway = await openGateway({ edges: 2 });
});
afterAll(async () => gateway.stop());

/** The contract's bound for a change to hold on every replica. */
const boundMs = 5_000;

async function status(key: string, edge: number): Promise<number> {
  return (await gateway.call('/v1/agents', { key, edge })).status;
}

/** Milliseconds until both edges answer `wanted`, with requests running all the time. */
async function untilBoth(key: string, wanted: number): Promise<number> {
  const startedAt = performance.now();
  await eventually(async () => {
    expect(await Promise.all([status(key, 0), status(key, 1)])).toEqual([wanted, wanted]);
  }, 2 * boundMs);
  return performance.now() - startedAt;
}

async function newKey(
  tenant: TenantAccess,
  fields: Record<string, unknown> = {},
): Promise<{ id: string; key: string }> {
  const answer = await gateway.call('/v1/api-keys', {
    key: tenant.adminKey,
    body: { name: 'k', role: 'user', ...fields },
  });
  return answer.body as { id: string; key: string };
}

describe('with two edges and requests running', () => {
  it('a revoked key stops within five seconds on both', async () => {
    const tenant = await gateway.makeTenant();
    const { id, key } = await newKey(tenant);
    await untilBoth(key, 200);
    const revoked = await gateway.call(`/v1/api-keys/${id}/revoke`, { key: tenant.adminKey, method: 'POST' });
    expect(revoked.body).toMatchObject({ status: 'revoked' });
    expect(await untilBoth(key, 401)).toBeLessThan(boundMs);
  });

  it('a suspended tenant gets 403 within five seconds, and works again as soon', async () => {
    const tenant = await gateway.makeTenant();
    await untilBoth(tenant.userKey, 200);
    const set = (to: string) =>
      gateway.call(`/internal/v1/owner/tenants/${tenant.id}`, {
        key: gateway.ownerKey,
        method: 'PATCH',
        body: { status: to },
      });
    await set('suspended');
    expect(await untilBoth(tenant.userKey, 403)).toBeLessThan(boundMs);
    const refused = await gateway.call('/v1/agents', { key: tenant.userKey });
    expect(refused.body).toMatchObject({ error: { code: 'tenant_suspended', type: 'permission_error' } });
    await set('active');
    expect(await untilBoth(tenant.userKey, 200)).toBeLessThan(boundMs);
  });

  it('a rotated key’s old secret works through the overlap and no longer, the new one at once', async () => {
    const tenant = await gateway.makeTenant();
    const { id, key } = await newKey(tenant);
    const rotated = await gateway.call(`/v1/api-keys/${id}/rotate`, {
      key: tenant.adminKey,
      body: { overlap_seconds: 2 },
    });
    const next = rotated.body as { id: string; key: string; status: string };
    expect([next.id, next.status]).toEqual([id, 'expiring']);
    expect(await Promise.all([status(next.key, 0), status(key, 1)])).toEqual([200, 200]);
    expect(await untilBoth(key, 401)).toBeLessThan(2_000 + boundMs);
    expect(await status(next.key, 0)).toBe(200);
  });

  it('a key expires to the second, also where it is cached', async () => {
    const tenant = await gateway.makeTenant();
    // A slow machine takes seconds until both edges have seen it.
    const expiresAt = Date.now() + 5_000;
    const { key } = await newKey(tenant, { expires_at: new Date(expiresAt).toISOString() });
    await untilBoth(key, 200);
    await untilBoth(key, 401);
    expect(Date.now() - expiresAt).toBeLessThan(3_000);
  });

  it('a revoked key stops within five seconds while no change can be listed', async () => {
    const tenant = await gateway.makeTenant();
    const { id, key } = await newKey(tenant);
    await untilBoth(key, 200);
    const listing = 'select on tenant.changes';
    await gateway.rows('tenant', `revoke ${listing} from tenant_system`);
    try {
      await gateway.call(`/v1/api-keys/${id}/revoke`, { key: tenant.adminKey, method: 'POST' });
      expect(await untilBoth(key, 401)).toBeLessThan(boundMs);
    } finally {
      await gateway.rows('tenant', `grant ${listing} to tenant_system`);
    }
  });

  it('a revoked key stops within five seconds while all connections for look-ups are killed again and again', async () => {
    const tenant = await gateway.makeTenant();
    const { id, key } = await newKey(tenant);
    await untilBoth(key, 200);
    const kill = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'gatehouse tenant_system' and state = 'idle'`;
    await gateway.call(`/v1/api-keys/${id}/revoke`, { key: tenant.adminKey, method: 'POST' });
    const startedAt = performance.now();
    const killing = setInterval(() => void gateway.rows('tenant', kill).catch(() => undefined), 300);
    try {
      await eventually(async () => {
        // A look-up that loses its connection is an outage: known keys pass then.
        expect([await status(key, 0), await status(key, 1)]).toEqual([401, 401]);
      }, 2 * boundMs);
      expect(performance.now() - startedAt).toBeLessThan(boundMs);
    } finally {
      clearInterval(killing);
    }
  });
});
