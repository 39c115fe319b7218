import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isOutage } from '@gatehouse/grpc/errors';
import { statusesWhileConnectionsEnd } from '@gatehouse/test/lost-connections';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start({ overProxy: true });
  tenant = agents.makeTenant();
  await agents.makeAgent(tenant.admin, { key: 'kept' });
});
afterAll(() => agents.stop());

const probe = async (path: string) => (await agents.admin(path)).status;

describe('while the database is away', () => {
  it('answers 503 and never 401, is alive but not ready, and recovers by itself', async () => {
    expect(await probe('readyz')).toBe(200);
    await agents.proxy.cut();
    for (const answer of [
      await agents.call('GET', '/v1/agents', { as: tenant.admin }),
      await agents.get(tenant.admin, 'kept'),
      await agents.patch(tenant.admin, 'kept', { name: 'Lost' }),
      await agents.patch(tenant.admin, 'kept', { model: 'large' }),
      await agents.delete(tenant.admin, 'kept'),
      await agents.call('POST', '/v1/agents', { as: tenant.admin, body: { key: 'lost', model: 'small' } }),
    ]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(answer.body.error).toMatchObject({ code: 'database_unavailable', type: 'unavailable_error' });
    }
    for (const call of [agents.resolve(tenant.user, 'kept'), agents.listVisible(tenant.user)]) {
      const error = await call.catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: 'database_unavailable' });
      expect(isOutage(error)).toBe(true);
    }
    // Requests that need no database are answered as before.
    expect((await agents.call('GET', '/v1/agents', { as: null })).status).toBe(401);
    expect((await agents.call('GET', '/v1/agents?x=1', { as: tenant.admin })).status).toBe(400);
    expect(await probe('livez')).toBe(200);
    expect(await probe('readyz')).toBe(503);

    await agents.proxy.open();
    expect(await agents.listKeys(tenant.admin)).toEqual(['kept']);
    expect((await agents.resolve(tenant.user, 'kept'))?.key).toBe('kept');
    expect((await agents.get(tenant.admin, 'kept')).body).toMatchObject({ name: 'kept', model: 'small' });
    expect(await probe('readyz')).toBe(200);
  });

  it('loses connections without losing the process or answering anything but 503', async () => {
    const statuses = await statusesWhileConnectionsEnd(agents, 'agent', async (client) => {
      return (await agents.patch(tenant.admin, 'kept', { metadata: { [client]: 1 } })).status;
    });
    statuses.delete(503);
    expect([...statuses]).toEqual([200]);
  });
});
