import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Agent } from '@gatehouse/contract/agents';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import type { As } from '@gatehouse/test/service-under-test';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

let agents: AgentServiceUnderTest;
let mine: TestTenant;
let theirs: TestTenant;
let theirAgent: Agent;
let app: Pool;

beforeAll(async () => {
  agents = await AgentServiceUnderTest.start();
  [mine, theirs] = [agents.makeTenant(), agents.makeTenant()];
  await agents.makeAgent(mine.admin, { key: 'mine' });
  await agents.makeAgent(mine.admin, { key: 'both', name: 'Mine' });
  theirAgent = await agents.makeAgent(theirs.admin, { key: 'theirs' });
  await agents.makeAgent(theirs.admin, { key: 'both', name: 'Theirs' });
  // One connection, so that each query meets what the one before left behind.
  app = poolAs('agent_app');
});
afterAll(async () => {
  await app.end();
  await agents.stop();
});

function poolAs(role: string): Pool {
  return createPool({ url: agents.database.url, role, max: 1, log: createLogger('test', 'silent') });
}

describe('a tenant', () => {
  const viewers = (): As[] => [mine.admin, mine.acting('ann'), { ...mine.user, scopes: ['agents.write'] }];

  it('lists its own agents only, also with another tenant’s cursor', async () => {
    for (const as of viewers()) {
      expect(await agents.listKeys(as)).toEqual(['both', 'mine']);
      expect(await agents.listVisible(as)).toEqual(['both', 'mine']);
      expect(await agents.listKeys(as, 'q=theirs')).toEqual([]);
    }
    const page = await agents.call('GET', '/v1/agents?limit=1', { as: theirs.admin });
    expect(await agents.listKeys(mine.admin, `cursor=${String(page.body.next_cursor)}`)).toEqual([
      'both',
      'mine',
    ]);
  });

  it('meets another tenant’s agent as if it did not exist', async () => {
    const error = async (method: string, ref: string, as: As) => {
      const body = method === 'PATCH' ? { name: 'Mine now' } : undefined;
      const answer = await agents.call(method, `/v1/agents/${ref}`, { as, body });
      return { status: answer.status, ...answer.body.error, request_id: '' };
    };
    for (const as of viewers()) {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const never = await error(method, newId(), as);
        expect(never.status).toBe(404);
        for (const ref of [theirAgent.id, 'theirs']) expect(await error(method, ref, as)).toEqual(never);
      }
      for (const ref of [theirAgent.id, 'theirs']) {
        await expect(agents.resolve(as, ref)).rejects.toMatchObject({ code: 'not_found' });
      }
    }
    expect((await agents.get(theirs.admin, 'theirs')).body).toEqual(theirAgent);
  });

  it('gets and changes its own where both use a key', async () => {
    const answer = await agents.patch(mine.admin, 'both', { description: 'Mine' });
    expect(answer.body).toMatchObject({ name: 'Mine', description: 'Mine' });
    const other = await agents.get(theirs.admin, 'both');
    expect(other.body).toMatchObject({ name: 'Theirs', description: '' });
    expect((await agents.resolve(mine.user, 'both'))?.id).toBe(answer.body.id);
  });

  it('may use another tenant’s id as a key, and gets its own agent by it', async () => {
    const own = await agents.makeAgent(mine.admin, { key: theirAgent.id });
    expect((await agents.get(mine.admin, theirAgent.id)).body.id).toBe(own.id);
    expect((await agents.delete(mine.admin, theirAgent.id)).status).toBe(204);
    expect((await agents.get(theirs.admin, theirAgent.id)).body).toEqual(theirAgent);
  });

  it('cannot be set by a request', async () => {
    const headers = { 'x-tenant-id': theirs.id, 'gatehouse.tenant_id': theirs.id };
    const answer = await agents.call('GET', '/v1/agents', { as: mine.admin, headers });
    expect(answer.body.data.map((agent) => agent.key)).toEqual(['both', 'mine']);
  });
});

describe('the role agent_app', () => {
  const count = 'select count(*)::int as count from agent.agents';
  const inMine = (text: string, ...values: unknown[]) =>
    withTenant(app, mine.id, (db) => db.query(text, values));

  it('raises without a tenant, also on a connection that had one', async () => {
    await expect(app.query(count)).rejects.toMatchObject({ code: '42501' });
    await inMine(count);
    await expect(app.query(count)).rejects.toMatchObject({ code: '42501' });
    await expect(app.query(`delete from agent.agents`)).rejects.toMatchObject({ code: '42501' });
  });

  it('raises on a malformed tenant', async () => {
    const attempt = app.query(`begin; set local gatehouse.tenant_id = 'acme'; ${count}`);
    await expect(attempt).rejects.toMatchObject({ code: '22P02' });
    await app.query('rollback');
  });

  it('sees, changes and deletes the rows of its tenant only', async () => {
    const { rows } = await inMine('select distinct tenant_id from agent.agents');
    expect(rows).toEqual([{ tenant_id: mine.id }]);
    for (const text of [
      `update agent.agents set name = 'x' where tenant_id = $1`,
      'delete from agent.agents where tenant_id = $1',
    ]) {
      expect((await inMine(text, theirs.id)).rowCount).toBe(0);
    }
  });

  it.each([
    ['insert a foreign agent', () => insert(theirs.id)],
    ['move an agent', () => inMine('update agent.agents set tenant_id = $1', theirs.id)],
    ['change an id', () => inMine('update agent.agents set id = $1', newId())],
    ['truncate', () => inMine('truncate agent.agents')],
    ['switch row-level security off', () => inMine('alter table agent.agents disable row level security')],
  ])('cannot %s', async (_what, attempt) => {
    await expect(attempt()).rejects.toMatchObject({ code: '42501' });
  });

  const insert = (tenantId: string) =>
    inMine(
      `insert into agent.agents (id, tenant_id, key, name, description, model, model_fallbacks, system_prompt,
         parameters, tools, memory, visibility, status, metadata)
       values ($1, $2, 'x', '', '', '', '{}', '', '{}', '{}', '{}', 'tenant', 'active', '{}')`,
      newId(),
      tenantId,
    );
});

describe('the other roles', () => {
  it.each(['agent_system', 'agent_login'])('%s may do nothing with agents', async (role) => {
    const pool = poolAs(role);
    try {
      await expect(pool.query('select id from agent.agents')).rejects.toMatchObject({ code: '42501' });
    } finally {
      await pool.end();
    }
  });
});

describe('the schema', () => {
  it('has no table without forced row-level security and a policy for every grant', async () => {
    expect(await tablesWithoutPolicies(agents.database.adminUrl, 'agent')).toEqual([]);
  });

  it('keeps no private agent without an owner, whatever the service may do', async () => {
    const attempt = agents.rows(`update agent.agents set visibility = 'private' where key = 'mine'`);
    await expect(attempt).rejects.toMatchObject({ constraint: 'agents_owner_check' });
  });
});
