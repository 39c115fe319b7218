import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { Answer, SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

/** Budgets of sessions, set by requests, on two replicas of chat. */

let gateway: SomeGateway;
beforeAll(async () => {
  gateway = await openGateway({ chats: 2 });
});
afterAll(async () => gateway.stop());

interface Sent {
  user?: string;
  session?: string;
  budget?: string;
  key?: string;
}

const messages = [{ role: 'user', content: 'Hello!' }];

function ask(tenant: TenantAccess, { user, session = 's', budget, key = tenant.userKey }: Sent) {
  return gateway.call('/v1/chat/completions', {
    ...{ key, body: { model: 'priced', messages, max_tokens: 10 } },
    headers: {
      'x-session-id': session,
      ...(user !== undefined && { 'x-service-user-id': user }),
      ...(budget !== undefined && { 'x-session-budget-usd': budget }),
    },
  });
}

const leastUsd = '0.000000000001';
const isSpent = {
  status: 429,
  body: { error: { code: 'insufficient_quota', param: 'policy:session-budget' } },
};

describe('the budget of a session', () => {
  it('stops a session on each replica, with or without the header, and no other session', async () => {
    const tenant = await gateway.makeTenant();
    const refused: Answer = await ask(tenant, { user: 'ada', budget: leastUsd });
    expect(refused).toMatchObject(isSpent);
    expect(refused.headers.get('x-gateway-policy')).toBe('session-budget');
    expect(refused.headers.get('x-should-retry')).toBe('false');
    // Replicas hear of the tenant's first budget within seconds.
    await eventually(async () => {
      for (let times = 0; times < 4; times += 1)
        expect(await ask(tenant, { user: 'ada' })).toMatchObject(isSpent);
    });
    expect((await ask(tenant, { user: 'ada', session: 'other' })).status).toBe(200);
    expect((await ask(tenant, { user: 'grace' })).status).toBe(200);
    expect((await ask(tenant, {})).status).toBe(200);
  });

  it('stops a session that both replicas know without one', async () => {
    const tenant = await gateway.makeTenant();
    expect((await ask(tenant, { user: 'ada', session: 'first', budget: '1.00' })).status).toBe(200);
    const asked = { user: 'grace' };
    // Until the replicas look sessions up.
    await sleep(2_000);
    for (let times = 0; times < 6; times += 1) expect((await ask(tenant, asked)).status).toBe(200);
    expect(await ask(tenant, { ...asked, budget: leastUsd })).toMatchObject(isSpent);
    await eventually(async () => {
      for (let times = 0; times < 4; times += 1) expect(await ask(tenant, asked)).toMatchObject(isSpent);
    }, 30_000);
  });

  it('is shared by the requests of its user and session, to the last one that fits', async () => {
    const tenant = await gateway.makeTenant();
    const budget = '0.0004';
    const statuses: number[] = [];
    do statuses.push((await ask(tenant, { user: 'ada', budget })).status);
    while (statuses.at(-1) === 200 && statuses.length < 200);
    expect(statuses.at(-1)).toBe(429);
    expect(statuses.length).toBeGreaterThan(1);
    await eventually(async () => {
      const [row] = await gateway.rows(
        'tenant',
        `select used::text, session_budget::text as budget from tenant.policy_counters where tenant_id = $1`,
        [tenant.id],
      );
      expect(BigInt(String(row?.['used']))).toBeLessThanOrEqual(BigInt(String(row?.['budget'])));
      expect(BigInt(String(row?.['used']))).toBeGreaterThan(0n);
    });
    const shown = await gateway.call('/v1/limits?user_id=ada&session_id=s', { key: tenant.adminKey });
    expect((shown.body as { limits: unknown[] }).limits).toContainEqual(
      expect.objectContaining({ policy: 'session-budget', value: 'user:ada/s', limit: '0.000400000000' }),
    );
  });

  it('is lowered by a later request, and never raised', async () => {
    const tenant = await gateway.makeTenant();
    expect((await ask(tenant, { user: 'ada', budget: '1.00' })).status).toBe(200);
    for (const budget of [leastUsd, '1.00', leastUsd, '1.00'])
      expect(await ask(tenant, { user: 'ada', budget })).toMatchObject(isSpent);
  });

  it('needs a session', async () => {
    const tenant = await gateway.makeTenant();
    const answer = await gateway.call('/v1/chat/completions', {
      ...{ key: tenant.userKey, body: { model: 'priced', messages } },
      headers: { 'x-session-budget-usd': '2.00' },
    });
    expect(answer).toMatchObject({
      ...{ status: 400, body: { error: { code: 'invalid_value', param: 'X-Session-Budget-Usd' } } },
    });
  });
});
