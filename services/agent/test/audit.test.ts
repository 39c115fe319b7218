import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AuditEntry } from '@gatehouse/contract/audit';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import type { Service } from '@gatehouse/shell/service';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let replica: Service;
let tenant: TestTenant;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
  replica = await agents.startReplica();
});
afterAll(async () => {
  await replica.stop();
  await agents.stop();
});

/** Another tenant each time, so that its entries are all of this test. */
function start(): TestTenant {
  tenant = agents.makeTenant();
  tenant.admin.keyId = newId();
  return tenant;
}

const recorded = (): AuditEntry[] => agents.tenant.entries.filter((entry) => entry.tenant_id === tenant.id);
const untilRecorded = (n: number) => eventually(() => expect(recorded().length).toBeGreaterThanOrEqual(n));
const waiting = () =>
  agents.rows('select id from agent.audit_outbox where tenant_id = $1 order by id', [tenant.id]);

describe('a change of an agent', () => {
  it('is sent to tenant once, with the values before and after', async () => {
    const { id, admin } = start();
    const acting = { ...admin, userId: 'ann' };
    const created = await agents.makeAgent(acting, { key: 'audited' });
    const headers = { 'x-gatehouse-client-ip': '203.0.113.9', 'x-request-id': 'request-7' };
    const patched = await agents.call('PATCH', '/v1/agents/audited', {
      as: acting,
      body: { name: 'After' },
      headers,
    });
    await agents.delete(acting, 'audited');
    await untilRecorded(3);
    await eventually(async () => expect(await waiting()).toEqual([]));
    expect(recorded().map(({ action }) => action)).toEqual([
      'agent.created',
      'agent.updated',
      'agent.deleted',
    ]);
    const [create, update, remove] = recorded();
    expect(create).toMatchObject({ before: null, after: created });
    expect(update).toEqual({
      id: expect.any(String),
      at: expect.any(String),
      action: 'agent.updated',
      actor: { key_id: admin.keyId, role: 'admin', user_id: 'ann' },
      tenant_id: id,
      resource: { type: 'agent', id: created.id },
      client_ip: '203.0.113.9',
      request_id: 'request-7',
      before: created,
      after: patched.body,
    });
    expect(remove).toMatchObject({ before: patched.body, after: null });
  });

  it('waits in the outbox while tenant takes nothing', async () => {
    const { admin } = start();
    agents.tenant.takes = false;
    for (let n = 0; n < 3; n += 1) await agents.makeAgent(admin);
    expect(await waiting()).toHaveLength(3);
    agents.tenant.takes = true;
    await untilRecorded(3);
    await eventually(async () => expect(await waiting()).toEqual([]));
    expect(new Set(recorded().map((entry) => entry.id)).size).toBe(3);
  });

  it('is not sent when it was refused', async () => {
    const { admin } = start();
    agents.tenant.takes = false;
    await agents.makeAgent(admin, { key: 'taken' });
    await agents.makeAgent(admin, { key: 'other' });
    const body = { key: 'taken', model: 'small' };
    expect((await agents.call('POST', '/v1/agents', { as: admin, body })).status).toBe(409);
    expect((await agents.patch(admin, 'other', { key: 'taken' })).status).toBe(409);
    expect((await agents.delete(admin, 'nobody')).status).toBe(404);
    expect(await waiting()).toHaveLength(2);
    agents.tenant.takes = true;
  });

  it('names prompts, and what else is long, by size and hash alone', async () => {
    const { admin } = start();
    const prompt = '€'.repeat(200_000);
    const metadata = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`m${n}`, 'x'.repeat(5_000)]));
    agents.tenant.takes = false;
    await agents.makeAgent(admin, { key: 'large', system_prompt: prompt, metadata });
    await agents.patch(admin, 'large', { system_prompt: `${prompt.slice(1)}!` });
    for (let n = 0; n < 20; n += 1)
      await agents.makeAgent(admin, { description: 'x'.repeat(5_000), system_prompt: 'y'.repeat(8_000) });
    agents.tenant.takes = true;
    await untilRecorded(22);
    const [create, update] = recorded();
    const omitted = { omitted_bytes: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) };
    expect(create?.after).toMatchObject({ key: 'large', system_prompt: omitted, metadata: omitted });
    expect(update?.before?.['system_prompt']).toEqual(create?.after?.['system_prompt']);
    expect(update?.after?.['system_prompt']).not.toEqual(create?.after?.['system_prompt']);
    expect(recorded().at(-1)?.after).toMatchObject({
      system_prompt: omitted,
      description: 'x'.repeat(5_000),
    });
  });
});
