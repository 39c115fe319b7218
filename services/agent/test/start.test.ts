import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeStarting } from '@gatehouse/test/starting';
import { AgentServiceUnderTest } from './agent-service.ts';

let agents: AgentServiceUnderTest;
beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
});
afterAll(() => agents.stop());

describeStarting('agent', () => agents);

it('needs no chat to start and to be ready', async () => {
  await agents.chat.stop();
  const service = await agents.startReplica();
  expect((await fetch(`http://127.0.0.1:${service.adminPort}/readyz`)).status).toBe(200);
  await service.stop();
  await agents.chat.restart();
});
