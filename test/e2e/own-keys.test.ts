import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { providerKeyList } from '@gatehouse/contract/provider-keys';
import { tracePage } from '@gatehouse/contract/traces';
import { costSummary } from '@gatehouse/contract/usage';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
let tenant: TenantAccess;
beforeAll(async () => {
  gateway = await openGateway();
  tenant = await gateway.makeTenant();
});
afterAll(() => gateway.stop());

const give = (key: string, fields: object = {}) =>
  gateway.call('/v1/provider-keys', {
    key: tenant.adminKey,
    body: { provider: 'simulator', key, ...fields },
  });
const listed = async () => {
  const answer = await gateway.call('/v1/provider-keys', { key: tenant.adminKey });
  return providerKeyList.parse(answer.body).data;
};

it("a tenant's own key is checked, used, listed apart in costs, and deleted", async () => {
  expect(await give('sk-wrong-key')).toMatchObject({
    ...{ status: 400, body: { error: { code: 'invalid_value', param: 'key' } } },
  });
  expect(await give('sk-wrong-key', { provider: 'nowhere' })).toMatchObject({
    ...{ status: 400, body: { error: { param: 'provider' } } },
  });
  expect(await listed()).toEqual([]);
  const given = await give('provider-key');
  expect(given).toMatchObject({ status: 201, body: { prefix: 'pro', status: 'active', last_used_at: null } });
  const ask = () =>
    gateway.call('/v1/chat/completions', {
      key: tenant.userKey,
      body: { model: 'small', messages: [{ role: 'user', content: 'Hello' }] },
    });
  // A replica takes a key up within seconds: not more requests than that, however fast the machine is.
  const isUsed = async (): Promise<void> => {
    expect((await ask()).status).toBe(200);
    const costs = await gateway.call('/v1/costs/summary', { key: tenant.adminKey });
    const { own_key: own, unpriced } = costSummary.parse(costs.body);
    expect(own.requests).toBeGreaterThan(0);
    // Those before the key took effect.
    expect(unpriced.requests).toBeLessThan(20);
  };
  await eventually(isUsed, 90_000, 500);
  // Follow holds back what may still come in another order.
  await eventually(async () => {
    const followed = await gateway.call('/v1/traces/follow', { key: tenant.adminKey });
    expect(tracePage.parse(followed.body).traces.some(({ own_key: own }) => own)).toBe(true);
  });
  await eventually(async () => {
    expect(await listed()).toEqual([expect.objectContaining({ last_used_at: expect.any(String) })]);
  });
  const { id } = given.body as { id: string };
  const removed = await gateway.call(`/v1/provider-keys/${id}`, { method: 'DELETE', key: tenant.adminKey });
  expect(removed.status).toBe(204);
  expect(await listed()).toEqual([]);
});
