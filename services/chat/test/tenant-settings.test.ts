import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { chat, ChatHarness } from './chat-harness.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(() => harness.stop());

const complete = (tenantId: string, keyId = newId()) =>
  harness.post('/v1/chat/completions', chat('hello'), { principal: { tenantId, keyId } });

async function refusal(response: Response): Promise<unknown> {
  const { error } = (await response.json()) as { error: { code: string; type: string; message: string } };
  return { status: response.status, code: error.code, type: error.type, message: error.message };
}

const suspended = {
  status: 403,
  code: 'tenant_suspended',
  type: 'permission_error',
  message: 'The tenant of this API key is suspended.',
};

describe('a tenant that the edge still believes to be active', () => {
  it.each([
    ['without limits', []],
    ['with limits', [Resource.REQUESTS, Resource.BUDGET]],
  ])('is refused once its settings say that it is suspended, %s', async (_, limited) => {
    const tenantId = newId();
    harness.settings.set(tenantId, { status: 'suspended', limited });
    const before = harness.simulator.requests.length;
    expect(await refusal(await complete(tenantId))).toEqual(suspended);
    expect(await refusal(await harness.get('/v1/models', { tenantId }))).toEqual(suspended);
    expect(harness.simulator.requests).toHaveLength(before);
  });

  it('is refused when a lease is, before its settings are asked for again', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { limited: [Resource.REQUESTS] });
    const { leaseBy } = harness;
    harness.leaseBy = () => Promise.reject(new AppError('tenant_suspended', suspended.message));
    expect(await refusal(await complete(tenantId))).toEqual(suspended);
    harness.leaseBy = leaseBy;
    expect((await complete(tenantId)).status).toBe(200);
  });

  it('is served by a tenant service that does not send its status', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, { status: undefined });
    expect((await complete(tenantId)).status).toBe(200);
  });
});

describe('limits of a key', () => {
  const limit = (response: Response) => response.headers.get('x-ratelimit-limit-requests');

  it('are asked for where some key of the tenant has limits, and kept for a moment', async () => {
    const [tenantId, limited, unlimited] = [newId(), newId(), newId()];
    harness.settings.set(tenantId, { someKeyLimited: true });
    harness.keyLimits.set(limited, [Resource.REQUESTS]);
    const before = harness.keyLimitCalls;
    for (let round = 0; round < 3; round += 1) {
      expect(limit(await complete(tenantId, limited))).not.toBeNull();
      expect(limit(await complete(tenantId, unlimited))).toBeNull();
    }
    expect(harness.keyLimitCalls - before).toBe(2);
  });

  it('are not asked for where no key of the tenant has any', async () => {
    const before = harness.keyLimitCalls;
    expect(limit(await complete(newId()))).toBeNull();
    expect(harness.keyLimitCalls).toBe(before);
  });
});
