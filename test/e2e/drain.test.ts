import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: TestGateway;
let tenant: TenantAccess;
beforeAll(async () => {
  gateway = await TestGateway.start({
    chats: 2,
    analytics: 2,
    environment: { DRAIN_DELAY_MS: '700', DRAIN_TIMEOUT_MS: '20000' },
  });
  tenant = await gateway.makeTenant();
});
afterAll(async () => gateway.stop());

/** A client that asks again as soon as it is answered, over a kept connection, until `over`. */
async function client(
  body: Record<string, unknown>,
  over: () => boolean,
): Promise<{ answered: number; failures: string[] }> {
  const result = { answered: 0, failures: [] as string[] };
  while (!over()) {
    const answer = await gateway.call('/v1/chat/completions', {
      key: tenant.userKey,
      body: { model: 'small', messages: [{ role: 'user', content: 'x' }], ...body },
    });
    const whole = body['stream'] !== true || String(answer.body).includes('data: [DONE]');
    if (answer.status === 200 && whole) result.answered += 1;
    else result.failures.push(`${answer.status} ${JSON.stringify(answer.body)}`);
  }
  return result;
}

it('replicas replaced one after the other cost no request and no stream', async () => {
  let over = false;
  const stream = { stream: true, x_simulator: { chunks: 20, chunk_delay_ms: 50 } };
  const clients = [
    ...Array.from({ length: 6 }, () => client({}, () => over)),
    ...Array.from({ length: 6 }, () => client(stream, () => over)),
  ];
  for (const name of ['chat-1', 'analytics-1', 'chat-2', 'analytics-2']) {
    await gateway.stopMember(name);
    await gateway.startMember(name);
    await eventually(async () => expect(await gateway.readiness(name)).toBe('ok\n'));
  }
  over = true;
  const results = await Promise.all(clients);
  expect(results.flatMap(({ failures }) => failures)).toEqual([]);
  const answered = results.reduce((sum, result) => sum + result.answered, 0);
  expect(answered).toBeGreaterThan(50);
  await eventually(async () => {
    const [runs] = await gateway.rows(
      'analytics',
      `select count(*)::int as runs, count(*) filter (where status = 'ok')::int as ok
       from analytics.traces where tenant_id = $1`,
      [tenant.id],
    );
    expect(runs).toEqual({ runs: answered, ok: answered });
  });
});
