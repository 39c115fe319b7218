import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let tenant: TestTenant;
beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
  tenant = agents.makeTenant();
});
afterAll(() => agents.stop());

const noJobs = async (): Promise<void> => expect(await agents.rows('select from agent_jobs.job')).toEqual([]);

async function deleteNew(): Promise<string> {
  const { id } = await agents.makeAgent(tenant.admin);
  expect((await agents.delete(tenant.admin, id)).status).toBe(204);
  return id;
}

it('the deletion of an agent is sent to memory', async () => {
  const id = await deleteNew();
  await eventually(noJobs);
  expect(agents.memory.deleted).toEqual([{ tenant_id: tenant.id, agent_id: id }]);
});

it('the deletion of an agent is sent to memory also with Kafka, which is down', async () => {
  const others = await AgentServiceUnderTest.start({ settings: { KAFKA_BROKERS: '127.0.0.1:1' } });
  const { admin, id: tenantId } = others.makeTenant();
  const { id } = await others.makeAgent(admin);
  expect((await others.delete(admin, id)).status).toBe(204);
  await eventually(() => expect(others.memory.deleted).toEqual([{ tenant_id: tenantId, agent_id: id }]));
  await others.stop();
});

it('an agent that is not deleted keeps its memory', async () => {
  const { id } = await agents.makeAgent(tenant.admin);
  const stranger = agents.makeTenant();
  expect((await agents.delete(stranger.admin, id)).status).toBe(404);
  expect((await agents.patch(tenant.admin, id, { memory: { enabled: false } })).status).toBe(200);
  expect(await agents.rows('select from agent_jobs.job')).toEqual([]);
  expect(agents.memory.callsFor(id)).toBe(0);
});

it('a failure of memory is repeated', async () => {
  agents.memory.failures = 1;
  const id = await deleteNew();
  await eventually(async () => {
    await noJobs();
    expect(agents.memory.callsFor(id)).toBe(2);
  });
});

it('an agent can be deleted while memory is down, and a restart of the agent service forgets nothing', async () => {
  await agents.memory.server.stop();
  const id = await deleteNew();
  await eventually(async () => {
    const jobs = await agents.rows<{ retry_count: number }>('select retry_count from agent_jobs.job');
    expect(jobs).toEqual([{ retry_count: expect.any(Number) }]);
  });
  await agents.service.stop();
  await agents.memory.server.restart();
  await agents.run();
  await eventually(async () => {
    await noJobs();
    expect(agents.memory.callsFor(id)).toBe(1);
  });
});
