import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallToolResponse } from '@gatehouse/proto/memory/v1/memory';
import type { As } from '@gatehouse/test/service-under-test';
import { GraphClient } from './graph-client.ts';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
let tenant: TestTenant;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
});
beforeEach(() => {
  tenant = memory.makeTenant();
});
afterAll(() => memory.stop());

async function call(tool: string, args: object, as: As = tenant.user): Promise<CallToolResponse> {
  const chat = await memory.peer('chat');
  const context = { deadlineMs: 5_000, assertion: await memory.identity.assertion(as) };
  const request = { agentId: tenant.agentId, analyser: 'english', tool, argumentsJson: JSON.stringify(args) };
  return chat.call('callTool', request, context);
}
const parsed = async (...asked: Parameters<typeof call>): Promise<unknown> => {
  const { content, outcome } = await call(...asked);
  expect(outcome).toBe('ok');
  return JSON.parse(content);
};

describe('memory_search', () => {
  it('returns the passages that the acting user may see', async () => {
    await memory.put(tenant, 'birds', 'One\n\nThe heron stands still.');
    await memory.put(tenant, 'hers', 'Ann saw a heron.', tenant.acting('ann'));
    const found = { path: 'birds', title: null, text: 'One\n\nThe heron stands still.', lines: '1-3' };
    expect(await parsed('memory_search', { query: 'a heron' })).toEqual([found]);
    expect(await parsed('memory_search', { query: 'a heron' }, tenant.acting('ann'))).toHaveLength(2);
    expect(await parsed('memory_search', { query: 'a heron', limit: 1 }, tenant.acting('ann'))).toHaveLength(
      1,
    );
    expect(await parsed('memory_search', { query: 'a heron' }, memory.makeTenant().admin)).toEqual([]);
    expect(await parsed('memory_search', { query: '\0\ud800' })).toEqual([]);
  });
});

describe('kg_traverse', () => {
  it('returns what is connected, by names', async () => {
    const graph = new GraphClient(memory, tenant);
    await graph.entities(
      { name: 'Ada', type: 'person', external_id: 'ada' },
      { name: 'Engine', type: 'machine', external_id: 'engine' },
    );
    await graph.call('POST', 'relations', {
      relations: [{ source: 'ada', target: 'engine', type: 'built', weight: 0.5 }],
    });
    expect(await parsed('kg_traverse', { start: ['Ada'] })).toMatchObject({
      nodes: [
        { name: 'Ada', type: 'person', distance: 0 },
        { name: 'Engine', distance: 1 },
      ],
      relations: [{ source: 'Ada', type: 'built', target: 'Engine', weight: 0.5 }],
      truncated: false,
    });
    expect(await call('kg_traverse', { start: ['Bob'] })).toMatchObject({ outcome: 'error' });
    expect((await call('kg_traverse', { start: ['Ada'] }, memory.makeTenant().admin)).outcome).toBe('error');
  });
});

it.each([
  ['memory_search', {}, 'query'],
  ['memory_search', { query: 'x', limit: 1_000 }, 'limit'],
  ['kg_traverse', { start: [] }, 'start'],
  ['kg_traverse', { start: ['a'], depth: 9 }, 'depth'],
  ['kg_traverse', { start: ['a'], sql: 'x' }, 'sql'],
])('%s with %j says what is wrong', async (tool, args, problem) => {
  expect(await call(tool, args)).toEqual({ outcome: 'error', content: expect.stringContaining(problem) });
});

it('other tools are not there, and other services may call none', async () => {
  await expect(call('web_fetch', {})).rejects.toMatchObject({ code: 'not_found' });
  const webhook = await memory.peer('webhook');
  const request = { agentId: tenant.agentId, analyser: '', tool: 'memory_search', argumentsJson: '{}' };
  const context = { deadlineMs: 5_000, assertion: await memory.identity.assertion(tenant.admin) };
  await expect(webhook.call('callTool', request, context)).rejects.toMatchObject({
    code: 'caller_not_allowed',
  });
});
