import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
});
afterAll(() => agents.stop());

async function makeAgents(count: number, prefix = 'agent'): Promise<TestTenant> {
  const tenant = agents.makeTenant();
  for (let n = 1; n <= count; n += 1) await agents.makeAgent(tenant.admin, { key: `${prefix}-${n}` });
  return tenant;
}

const page = async (tenant: TestTenant, query: string) =>
  (await agents.call('GET', `/v1/agents?${query}`, { as: tenant.admin })).body;

describe('pages of agents', () => {
  it('run from the newest to the oldest and say whether there is more', async () => {
    const tenant = await makeAgents(4);
    const first = await page(tenant, 'limit=2');
    expect(first.data.map((agent) => agent.key)).toEqual(['agent-4', 'agent-3']);
    expect(first.has_more).toBe(true);
    const second = await page(tenant, `limit=2&cursor=${String(first.next_cursor)}`);
    expect(second.data.map((agent) => agent.key)).toEqual(['agent-2', 'agent-1']);
    expect(second).toMatchObject({ has_more: false, next_cursor: null });
  });

  it('are not shifted by agents that are made or deleted between them', async () => {
    const tenant = await makeAgents(6);
    const first = await page(tenant, 'limit=2');
    await agents.makeAgent(tenant.admin, { key: 'newcomer' });
    // The very agent that the cursor names, and one ahead.
    for (const key of ['agent-5', 'agent-4']) await agents.delete(tenant.admin, key);
    const second = await page(tenant, `limit=2&cursor=${String(first.next_cursor)}`);
    expect(second.data.map((agent) => agent.key)).toEqual(['agent-3', 'agent-2']);
    const third = await page(tenant, `limit=2&cursor=${String(second.next_cursor)}`);
    expect(third.data.map((agent) => agent.key)).toEqual(['agent-1']);
  });

  it('hold 50 agents unless asked for up to 200', async () => {
    const tenant = await makeAgents(52);
    expect((await page(tenant, '')).data).toHaveLength(50);
    const all = await page(tenant, 'limit=200');
    expect(all.data).toHaveLength(52);
    expect(all.has_more).toBe(false);
  });

  it('skip what the caller may not see without becoming shorter', async () => {
    const tenant = agents.makeTenant();
    for (const n of [1, 2, 3, 4, 5, 6]) {
      const owner = n % 2 === 0 ? { visibility: 'private', owner_user_id: 'ann' } : {};
      await agents.makeAgent(tenant.admin, { key: `agent-${n}`, ...owner });
    }
    const first = await agents.call('GET', '/v1/agents?limit=2', { as: tenant.user });
    expect(first.body.data.map((agent) => agent.key)).toEqual(['agent-5', 'agent-3']);
    const rest = `limit=2&cursor=${String(first.body.next_cursor)}`;
    expect(await agents.listKeys(tenant.user, rest)).toEqual(['agent-1']);
    // A cursor holds no right: who sees more goes on with more.
    expect(await agents.listKeys(tenant.admin, rest)).toEqual(['agent-2', 'agent-1']);
  });

  it('are empty for a tenant without agents', async () => {
    const empty = { data: [], has_more: false, next_cursor: null };
    expect(await page(agents.makeTenant(), '')).toEqual(empty);
  });
});

describe('the filter q', () => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = agents.makeTenant();
    await agents.makeAgent(tenant.admin, { key: 'wool', name: '100% Wool', description: 'Sheep and goats' });
    await agents.makeAgent(tenant.admin, { key: 'snake', name: 'snake_case', description: 'C:\\Windows' });
    await agents.makeAgent(tenant.admin, { key: 'plain', name: 'Plain 100x', description: "it's (a|b)* $1" });
  });

  it.each([
    ['wool', ['wool']],
    ['WOOL', ['wool']],
    ['sheep AND', ['wool']],
    ['100', ['plain', 'wool']],
    ['100%', ['wool']],
    ['%', ['wool']],
    ['_', ['snake']],
    ['snake_case', ['snake']],
    ['snake.case', []],
    ['\\', ['snake']],
    ['\\w', ['snake']],
    ['.*', []],
    ['(a|b)*', ['plain']],
    ["it's", ['plain']],
    ['$1', ['plain']],
    ['a', ['plain', 'snake', 'wool']],
    ['nowhere', []],
  ])('finds %j literally in key, name and description', async (q, found) => {
    expect(await agents.listKeys(tenant.admin, new URLSearchParams({ q }).toString())).toEqual(found);
  });

  it('goes with status and with pages', async () => {
    await agents.patch(tenant.admin, 'wool', { status: 'disabled' });
    expect(await agents.listKeys(tenant.admin, 'status=disabled')).toEqual(['wool']);
    expect(await agents.listKeys(tenant.admin, 'status=active')).toEqual(['plain', 'snake']);
    expect(await agents.listKeys(tenant.admin, 'q=100&status=active')).toEqual(['plain']);
    const first = await page(tenant, 'q=100&limit=1');
    expect(first.data.map((agent) => agent.key)).toEqual(['plain']);
    const next = `q=100&limit=1&cursor=${String(first.next_cursor)}`;
    expect(await agents.listKeys(tenant.admin, next)).toEqual(['wool']);
  });
});

describe('a list asked for wrongly', () => {
  const forged = Buffer.from('{"v":1,"before":"x"}').toString('base64url');

  it.each([
    ['status=gone', 'invalid_value', 'status'],
    ['status=', 'invalid_value', 'status'],
    ['q=', 'invalid_value', 'q'],
    ['q=%00', 'invalid_value', 'q'],
    [`q=${'x'.repeat(201)}`, 'invalid_value', 'q'],
    ['limit=0', 'invalid_value', 'limit'],
    ['limit=201', 'invalid_value', 'limit'],
    ['limit=1.5', 'invalid_type', 'limit'],
    ['limit=many', 'invalid_type', 'limit'],
    ['cursor=', 'invalid_value', 'cursor'],
    ['cursor=x', 'invalid_cursor', 'cursor'],
    ['cursor=bnVsbA', 'invalid_cursor', 'cursor'],
    [`cursor=${forged}`, 'invalid_cursor', 'cursor'],
    ['model=small', 'unknown_parameter', 'model'],
    ['status=active&status=disabled', 'invalid_value', 'status'],
  ])('with ?%s is a 400 %s naming %s', async (query, code, param) => {
    const answer = await agents.call('GET', `/v1/agents?${query}`, { as: agents.makeTenant().admin });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code, param });
  });
});
