import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { pageBytes } from '@gatehouse/kit/page';
import { createPool } from '@gatehouse/pg/pool';
import { AgentStore } from '../src/agents/agent-store.ts';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
  agents.chat.models.add(longModel);
});
afterAll(() => agents.stop());

const longModel = '漢'.repeat(256);

/** As large as an agent can be: the longest texts of characters of three bytes, and 64 KiB of JSON each. */
const largest = {
  key: 'large-0',
  name: '漢'.repeat(200),
  description: '漢'.repeat(5_000),
  model: longModel,
  model_fallbacks: Array<string>(10).fill(longModel),
  system_prompt: '漢'.repeat(200_000),
  parameters: { note: 'p'.repeat(65_000) },
  metadata: { note: 'm'.repeat(65_000) },
  tools: { mcp_servers: Array<string>(100).fill('s'.repeat(64)) },
};
const largestBytes = Buffer.byteLength(JSON.stringify(largest));

/** Agents that differ in nothing but their keys, as copies of one that was made through the API. */
async function makeLargest(count: number): Promise<TestTenant> {
  const tenant = agents.makeTenant();
  const { id } = await agents.makeAgent(tenant.admin, largest);
  await agents.rows(
    `insert into agent.agents (id, tenant_id, key, name, description, model, model_fallbacks, system_prompt, parameters,
       tools, memory, visibility, status, metadata)
     select copy, tenant_id, 'large-' || n, name, description, model, model_fallbacks, system_prompt, parameters, tools,
       memory, visibility, status, metadata
     from agent.agents, unnest($2::uuid[]) with ordinality as copies (copy, n) where id = $1`,
    [id, Array.from({ length: count - 1 }, newId)],
  );
  return tenant;
}

describe('a list of the largest agents there can be', () => {
  it('has pages of 4 MiB at most that show each agent once, also while others are made', async () => {
    const tenant = await makeLargest(30);
    const seen: string[] = [];
    for (let query: string | null = 'limit=200'; query !== null;) {
      const { status, body } = await agents.call('GET', `/v1/agents?${query}`, { as: tenant.admin });
      expect([status, body.error]).toEqual([200, undefined]);
      expect(body.data.length).toBeGreaterThan(0);
      expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(pageBytes + 1_000);
      expect(body.has_more).toBe(body.next_cursor !== null);
      seen.push(...body.data.map(({ key }) => key));
      query = body.next_cursor === null ? null : `limit=200&cursor=${body.next_cursor}`;
      await agents.makeAgent(tenant.admin, { key: `newcomer-${seen.length}` });
    }
    expect(seen.toSorted()).toEqual(Array.from({ length: 30 }, (_, n) => `large-${n}`).sort());
  });

  it('is read from the database in part only', async () => {
    const tenant = await makeLargest(60);
    const pool = createPool({
      url: agents.database.url,
      role: 'agent_app',
      max: 1,
      log: createLogger('agent', 'silent'),
    });
    const page = { status: null, q: null, limit: 200, before: null };
    const read = await new AgentStore(pool).list({ tenantId: tenant.id, seesAll: true, user: null }, page);
    await pool.end();
    const bytes = read.rows.reduce((sum, row) => sum + Buffer.byteLength(JSON.stringify(row)), 0);
    expect(bytes).toBeGreaterThan(pageBytes);
    expect(bytes).toBeLessThan(pageBytes + 2 * largestBytes);
    expect(read.more).toBe(true);
  });
});
