import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scopesOf } from '@gatehouse/contract/scopes';
import { newKeyText } from '@gatehouse/identity/key-text';
import { newId } from '@gatehouse/kit/ids';
import { Rejection, type AuthenticateResponse } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

let tenants: TenantServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  tenants = await TenantServiceUnderTest.start();
  tenant = await tenants.makeTenant();
});
afterAll(() => tenants.stop());

const rejected = (value: Rejection): AuthenticateResponse => ({ result: { $case: 'rejection', value } });
/** A key whose secret was right is named, to count its refused requests. */
const rejectedKey = (value: Rejection, id: string): AuthenticateResponse => ({
  ...rejected(value),
  rejectedKey: { id, tenantId: tenant.id },
});
const accepted = expect.objectContaining({ result: expect.objectContaining({ $case: 'key' }) });

const rotate = async (id: string, overlapSeconds: number): Promise<string> => {
  const body = { overlap_seconds: overlapSeconds };
  const answer = await tenants.call('POST', `/v1/api-keys/${id}/rotate`, { as: tenant.admin, body });
  expect(answer.status).toBe(200);
  return answer.body.key;
};

describe('Authenticate', () => {
  it('returns the tenant of a key, its role and its scopes', async () => {
    const expiresAt = '2090-01-01T00:00:00.000Z';
    const { id, key } = await tenants.makeKey(tenant.admin, {
      scopes: ['chat'],
      user_id: 'ann',
      expires_at: expiresAt,
    });
    expect(await tenants.authenticate(key)).toEqual({
      result: {
        $case: 'key',
        value: {
          id,
          tenantId: tenant.id,
          tenantSlug: tenant.slug,
          tenantStatus: 'active',
          role: 'user',
          scopes: ['chat'],
          userId: 'ann',
          expiresAt: new Date(expiresAt),
          hasUsers: false,
        },
      },
    });
  });

  it('leaves the bound user and the end out where there are none', async () => {
    const { result } = await tenants.authenticate(tenant.adminKey);
    expect(result).toMatchObject({
      $case: 'key',
      value: { scopes: scopesOf('admin'), userId: undefined, expiresAt: undefined },
    });
  });

  it('rejects an unknown id, a wrong secret and what can be neither, all alike', async () => {
    const { key } = await tenants.makeKey(tenant.admin);
    const stranger = newKeyText();
    const keyId = key.slice(4, 20);
    expect(await tenants.authenticate(stranger.text)).toEqual(rejected(Rejection.UNKNOWN));
    expect(await tenants.authenticateParts(keyId, stranger.secretSha256)).toEqual(
      rejected(Rejection.UNKNOWN),
    );
    for (const [id, hash] of [
      [keyId, Buffer.alloc(0)],
      [keyId, Buffer.alloc(64)],
      ['', stranger.secretSha256],
      ['\u0000'.repeat(16), stranger.secretSha256],
      ["' or 1=1 --", stranger.secretSha256],
      ['x'.repeat(100_000), stranger.secretSha256],
    ] as const) {
      expect(await tenants.authenticateParts(id, hash)).toEqual(rejected(Rejection.UNKNOWN));
    }
  });

  it('rejects a revoked key and an expired one, and says which only for the right secret', async () => {
    const revoked = await tenants.makeKey(tenant.admin);
    await tenants.call('POST', `/v1/api-keys/${revoked.id}/revoke`, { as: tenant.admin });
    expect(await tenants.authenticate(revoked.key)).toEqual(rejectedKey(Rejection.REVOKED, revoked.id));
    const guess = await tenants.authenticateParts(revoked.key.slice(4, 20), newKeyText().secretSha256);
    expect(guess).toEqual(rejected(Rejection.UNKNOWN));

    const soon = new Date(Date.now() + 500).toISOString();
    const expiring = await tenants.makeKey(tenant.admin, { expires_at: soon });
    expect(await tenants.authenticate(expiring.key)).toEqual(accepted);
    await eventually(async () => {
      expect(await tenants.authenticate(expiring.key)).toEqual(rejectedKey(Rejection.EXPIRED, expiring.id));
    }, 2_000);
  });

  it('returns the status of a suspended or archived tenant, not a rejection', async () => {
    const other = await tenants.makeTenant();
    const path = `/internal/v1/owner/tenants/${other.id}`;
    await tenants.call('PATCH', path, { body: { status: 'suspended' } });
    expect(await tenants.authenticate(other.adminKey)).toMatchObject({
      result: { $case: 'key', value: { tenantStatus: 'suspended' } },
    });
  });

  it('gives no scope that the role does not have (any more)', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin, { scopes: ['chat'] });
    await tenants.rows(`update tenant.api_keys set scopes = '{keys.write,gone,chat}' where id = $1`, [id]);
    expect(await tenants.authenticate(key)).toMatchObject({ result: { value: { scopes: ['chat'] } } });
    expect((await tenants.call('GET', `/v1/api-keys/${id}`, { as: tenant.admin })).body.scopes).toEqual([
      'chat',
    ]);
  });

  it('may be called by the edge alone', async () => {
    for (const caller of ['chat', 'agent', 'tenant']) {
      const peer = await tenants.peer(caller);
      const request = { keyId: 'x', secretSha256: Buffer.alloc(32) };
      await expect(peer.call('authenticate', request, { deadlineMs: 2_000 })).rejects.toMatchObject({
        code: 'caller_not_allowed',
      });
    }
  });
});

describe('a rotated key', () => {
  it('stops the old secret at once without an overlap', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    const fresh = await rotate(id, 0);
    expect(await tenants.authenticate(key)).toEqual(rejected(Rejection.UNKNOWN));
    expect(await tenants.authenticate(fresh)).toEqual(accepted);
  });

  it('accepts both secrets during the overlap, and then the new one only', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    const fresh = await rotate(id, 1);
    expect(await tenants.authenticate(key)).toEqual(accepted);
    expect(await tenants.authenticate(fresh)).toEqual(accepted);
    await eventually(async () => {
      expect(await tenants.authenticate(key)).toEqual(rejected(Rejection.UNKNOWN));
    }, 2_000);
    expect(await tenants.authenticate(fresh)).toEqual(accepted);
  });

  it('drops the oldest secret when rotated again during an overlap', async () => {
    const { id, key: first } = await tenants.makeKey(tenant.admin);
    const second = await rotate(id, 60);
    const third = await rotate(id, 60);
    expect(await tenants.authenticate(first)).toEqual(rejected(Rejection.UNKNOWN));
    expect(await tenants.authenticate(second)).toEqual(accepted);
    const fourth = await rotate(id, 0);
    for (const old of [second, third]) {
      expect(await tenants.authenticate(old)).toEqual(rejected(Rejection.UNKNOWN));
    }
    expect(await tenants.authenticate(fourth)).toEqual(accepted);
  });

  it('stops with both secrets when revoked', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    const fresh = await rotate(id, 60);
    await tenants.call('POST', `/v1/api-keys/${id}/revoke`, { as: tenant.admin });
    for (const text of [key, fresh])
      expect(await tenants.authenticate(text)).toEqual(rejectedKey(Rejection.REVOKED, id));
  });
});

describe('the last use of a key', () => {
  const lastUse = async (id: string): Promise<Date | null> => {
    const [row] = await tenants.rows<{ at: Date | null }>(
      'select last_used_at as at from tenant.api_keys where id = $1',
      [id],
    );
    return row?.at ?? null;
  };
  const noted = (id: string, after: Date | null): Promise<Date> =>
    eventually(async () => {
      const at = await lastUse(id);
      if (at === null || (after !== null && at <= after)) throw new Error('the use was not noted');
      return at;
    }, 10_000);
  /** Notes are written in the background: once that of a later use is there, those of earlier ones had their time. */
  const allNoted = async (): Promise<void> => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    await tenants.authenticate(key);
    await noted(id, null);
  };

  it('is noted once an hour at most', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    await Promise.all(Array.from({ length: 20 }, () => tenants.authenticate(key)));
    const first = await noted(id, null);
    await Promise.all(Array.from({ length: 20 }, () => tenants.authenticate(key)));
    await allNoted();
    expect(await lastUse(id)).toEqual(first);
    await tenants.rows(
      `update tenant.api_keys set last_used_at = now() - interval '61 minutes' where id = $1`,
      [id],
    );
    await tenants.authenticate(key);
    expect((await noted(id, first)).getTime()).toBeGreaterThanOrEqual(first.getTime());
  });

  it('is not noted for a rejected key', async () => {
    const { id, key } = await tenants.makeKey(tenant.admin);
    await tenants.authenticateParts(key.slice(4, 20), Buffer.alloc(32));
    await allNoted();
    expect(await lastUse(id)).toBeNull();
  });
});

describe('GetTenantSettings', () => {
  const memoryLimits = { documents: 100_000n, bytes: 5_368_709_120n, entities: 1_000_000n };

  it('returns what other services need to know of a tenant', async () => {
    expect(await tenants.settings(tenant.id)).toEqual({
      previewsEnabled: true,
      previewMaxChars: 500,
      contentFull: false,
      retentionDays: 90,
      limited: [],
      limitedKeys: [],
      someKeyLimited: false,
      memoryLimits,
      providerKeys: [],
      policies: [],
      guardrails: [],
      status: 'active',
      timezone: 'UTC',
      unleasedRequests: 0n,
      hasUsers: false,
      hasSessionBudgets: false,
      actingUsers: 'any',
    });
    const other = await tenants.makeTenant({
      timezone: 'Asia/Kathmandu',
      allowed_models: ['gpt-4o'],
      previews: { enabled: false, max_chars: 10 },
      retention_days: 7,
    });
    expect(await tenants.settings(other.id)).toEqual({
      allowedModels: { ids: ['gpt-4o'] },
      previewsEnabled: false,
      previewMaxChars: 10,
      contentFull: false,
      retentionDays: 7,
      limited: [],
      limitedKeys: [],
      someKeyLimited: false,
      memoryLimits,
      providerKeys: [],
      policies: [],
      guardrails: [],
      status: 'active',
      timezone: 'Asia/Kathmandu',
      unleasedRequests: 0n,
      hasUsers: false,
      hasSessionBudgets: false,
      actingUsers: 'any',
    });
  });

  it('distinguishes a tenant without any model from one with all of them', async () => {
    const none = await tenants.makeTenant({ allowed_models: [] });
    expect(await tenants.settings(none.id)).toMatchObject({ allowedModels: { ids: [] } });
  });

  it('answers not_found for an unknown id and for one that is no UUID', async () => {
    for (const id of [newId(), '', 'acme', "'; select 1 --"]) {
      await expect(tenants.settings(id)).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  it('is for chat and analytics alone', async () => {
    expect(await tenants.settings(tenant.id, 'analytics')).toMatchObject({ retentionDays: 90 });
    await expect(tenants.settings(tenant.id, 'edge')).rejects.toMatchObject({ code: 'caller_not_allowed' });
  });
});
