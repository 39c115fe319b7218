import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { classesOf } from '@gatehouse/test/column-classes';
import { columnsWith } from '@gatehouse/test/columns-with';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import type { Answer, ServiceName } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: TestGateway;
let tenant: TenantAccess;
beforeAll(async () => {
  gateway = await TestGateway.start({ forgetSettleMs: 500, separate: true });
  tenant = await gateway.makeTenant();
});
afterAll(() => gateway.stop());

const services = ['tenant', 'agent', 'analytics', 'memory', 'chat', 'webhook'] as const;
const asUser = (userId: string) => ({ 'x-service-user-id': userId });

async function makeAgent(key: string): Promise<string> {
  const body = { key, model: 'small', memory: { enabled: true, write: false } };
  const answer = await gateway.call('/v1/agents', { key: tenant.adminKey, body });
  expect(answer.status).toBe(201);
  return (answer.body as { id: string }).id;
}

async function put(agent: string, path: string, text: string, headers = {}): Promise<void> {
  const answer = await gateway.call(`/v1/agents/${agent}/memory/documents/${path}`, {
    key: tenant.adminKey,
    method: 'PUT',
    body: { text },
    headers,
  });
  expect(answer.status).toBe(201);
}

const stats = (agent: string, headers = {}): Promise<Answer> =>
  gateway.call(`/v1/agents/${agent}/memory/stats`, { key: tenant.adminKey, headers });

async function forget(userId: string): Promise<string> {
  const answer = await gateway.call(`/v1/users/${userId}/data`, { key: tenant.adminKey, method: 'DELETE' });
  expect(answer).toMatchObject({ status: 202, body: { status: 'running' } });
  return (answer.body as { id: string }).id;
}

const deletion = (userId: string, id: string): Promise<Answer> =>
  gateway.call(`/v1/users/${userId}/data/deletions/${id}`, { key: tenant.adminKey });

const columnsOf = (service: ServiceName, text: string): Promise<string[]> =>
  columnsWith((sql, values) => gateway.rows(service, sql, values), text);

describe('a user whose data are deleted while memory is down', () => {
  it('is gone from every service when memory is back, and other users stay', async () => {
    const agent = await makeAgent('concierge');
    await put(agent, 'seats', 'Prefers quokka seats.', asUser('ann-4711'));
    await put(agent, 'seats', 'Prefers window seats.', asUser('bob-4712'));
    const completion = await gateway.call('/v1/chat/completions', {
      key: tenant.userKey,
      headers: asUser('ann-4711'),
      body: { model: 'agent:concierge', messages: [{ role: 'user', content: 'Where is my quokka?' }] },
    });
    expect(completion.status).toBe(200);
    await eventually(async () => {
      const traces = await gateway.call('/v1/traces/follow?user_id=ann-4711', { key: tenant.adminKey });
      expect((traces.body as { traces: unknown[] }).traces).toHaveLength(1);
    });

    // Texts of the user are in columns that the list of classes calls personal, and nowhere else.
    for (const service of services)
      for (const text of ['ann-4711', 'quokka'])
        for (const name of await columnsOf(service, text)) {
          const [schema = '', ...place] = name.split('.');
          if (schema === service)
            expect([name, classesOf(service).get(place.join('.'))]).toEqual([name, 'personal']);
        }

    await gateway.stopMember('memory-1');
    const id = await forget('ann-4711');
    await eventually(async () => {
      const failed = `select from tenant_jobs.job where name = 'forget_user_in_memory' and retry_count > 0`;
      expect(await gateway.rows('tenant', failed)).toHaveLength(1);
    });
    expect((await deletion('ann-4711', id)).body).toMatchObject({
      status: 'running',
      services: [{ service: 'memory', status: 'running', counts: {} }, {}, {}, {}, {}],
    });
    await gateway.startMember('memory-1');
    await eventually(async () => {
      expect((await deletion('ann-4711', id)).body).toMatchObject({
        status: 'completed',
        services: [
          { service: 'memory', status: 'completed', counts: { documents: 1, chunks: 1 } },
          { service: 'analytics', counts: { traces: 1 } },
          { service: 'chat' },
          { service: 'webhook' },
          { service: 'agent' },
        ],
      });
    });

    for (const service of services) {
      expect([service, await columnsOf(service, 'ann-4711')]).toEqual([service, []]);
      expect([service, await columnsOf(service, 'quokka')]).toEqual([service, []]);
    }
    expect((await stats(agent, asUser('bob-4712'))).body).toMatchObject({ documents: 1 });
    const traces = await gateway.call('/v1/traces/follow', { key: tenant.adminKey });
    const [trace] = (traces.body as { traces: Record<string, unknown>[] }).traces;
    expect(trace).toMatchObject({ input_preview: null, output_preview: null });
    expect(trace?.['input_tokens']).toBeGreaterThan(0);
  });
});

describe('an agent that is deleted while memory is down', () => {
  it('has no memory when memory is back, and the tenant gets its room back', async () => {
    const agent = await makeAgent('archive');
    await put(agent, 'a', 'An axolotl.');
    await put(agent, 'b', 'Another axolotl.');
    const used = async (): Promise<unknown> => {
      const answer = await gateway.call('/v1/limits', { key: tenant.userKey });
      const { limits } = answer.body as { limits: { resource: string; used: number | null }[] };
      return limits.find(({ resource }) => resource === 'memory_documents')?.used;
    };
    const before = await eventually(async () => {
      const now = await used();
      expect(now).toEqual(expect.any(Number));
      return Number(now);
    });
    await gateway.stopMember('memory-1');
    expect(await used()).toBeNull();
    const deleted = await gateway.call('/v1/agents/archive', { key: tenant.adminKey, method: 'DELETE' });
    expect(deleted.status).toBe(204);
    await gateway.stopMember('agent-1');
    await gateway.startMember('memory-1');
    await gateway.startMember('agent-1');
    await eventually(async () => expect(await used()).toBe(before - 2));
    await eventually(async () => expect(await columnsOf('memory', 'axolotl')).toEqual([]));
    await eventually(async () =>
      expect(await gateway.rows('agent', 'select from agent_jobs.job')).toEqual([]),
    );
  });
});
