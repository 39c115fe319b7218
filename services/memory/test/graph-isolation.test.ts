import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import { tablesWithoutPolicies } from '@gatehouse/test/rls-audit';
import type { As } from '@gatehouse/test/service-under-test';
import fc from 'fast-check';
import { GraphClient } from './graph-client.ts';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
let mine: TestTenant;
let agent: GraphClient;
let ann: GraphClient;
let bob: GraphClient;
let theirs: GraphClient;
let pool: Pool;
/** Ids by name; the names of a user's entities begin with the user's. */
const ids = new Map<string, string>();
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  mine = memory.makeTenant();
  agent = new GraphClient(memory, mine);
  ann = agent.by(mine.acting('ann'));
  bob = agent.by(mine.acting('bob'));
  theirs = new GraphClient(memory, memory.makeTenant());
  for (const [client, name] of [
    [agent, 'agent'],
    [ann, 'ann'],
    [bob, 'bob'],
    [theirs, 'theirs'],
  ] as const) {
    const names = [`${name}-1`, `${name}-2`];
    const made = await client.things(...names);
    for (const [index, each] of names.entries()) ids.set(each, made[index] ?? '');
    await client.entities({ name: 'shared', type: name, external_id: 'shared' });
  }
  await agent.link('agent-1>agent-2', 'agent-2>shared');
  await theirs.link('theirs-1>theirs-2');
  for (const [client, name] of [
    [ann, 'ann'],
    [bob, 'bob'],
  ] as const)
    await client.link(`${name}-1>${name}-2`, `${name}-1>agent-1`, `agent-1>${name}-2`, `agent-1>shared:9`);
  const log = createLogger('test', 'silent');
  pool = createPool({ url: memory.database.url, role: 'memory_app', max: 1, log });
});
afterAll(async () => {
  await pool.end();
  await memory.stop();
});

const idOf = (name: string): string => ids.get(name) ?? '';

describe('an acting user', () => {
  it('sees the entities of the agent and its own', async () => {
    expect((await ann.names()).sort()).toEqual(['agent-1', 'agent-2', 'ann-1', 'ann-2', 'shared', 'shared']);
    expect((await agent.names()).sort()).toEqual(['agent-1', 'agent-2', 'shared']);
    expect((await ann.names('q=bob')).join()).toBe('');
    expect((await ann.call('GET', `entities/${idOf('ann-1')}`)).body.scope).toBe('user');
    for (const name of ['bob-1', 'theirs-1'])
      expect((await ann.call('GET', `entities/${idOf(name)}`)).body.error.code).toBe('not_found');
    expect((await agent.call('GET', `entities/${idOf('ann-1')}`)).status).toBe(404);
  });

  it('reaches nothing of other users, whatever the start and the options', async () => {
    const starts = ['agent-1', 'agent-2', 'ann-1', 'ann-2', 'bob-1', 'theirs-1', 'shared'];
    const callers = [
      { client: ann, allowed: /^(agent|ann|shared)/ },
      { client: bob, allowed: /^(agent|bob|shared)/ },
      { client: agent, allowed: /^(agent|shared)/ },
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...callers),
        fc.constantFrom(...starts),
        fc.boolean(),
        fc.record({
          depth: fc.integer({ min: 1, max: 5 }),
          direction: fc.constantFrom('out', 'in', 'both'),
          fan_out: fc.integer({ min: 1, max: 5 }),
        }),
        async ({ client, allowed }, start, byId, options) => {
          const given = byId ? (ids.get(start) ?? start) : start;
          const { status, body } = await client.traverse({ start: [given], ...options });
          expect(status).toBe(allowed.test(start) ? 200 : 404);
          if (status !== 200) return;
          for (const { name } of body.nodes) expect(name).toMatch(allowed);
          const [types, ends] = [
            new Set(body.nodes.map(({ id }) => id)),
            body.edges.flatMap((each) => [each.source, each.target]),
          ];
          for (const end of ends) expect(types).toContain(end);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('gets its own relations of an entity of the agent, and not those of others', async () => {
    expect((await ann.reach({ start: ['agent-1'], depth: 1 })).split(' ').sort()).toEqual(
      ['agent-10', 'agent-21', 'ann-11', 'ann-21', 'shared1'].sort(),
    );
    expect((await agent.reach({ start: ['agent-1'], depth: 1 })).split(' ').sort()).toEqual([
      'agent-10',
      'agent-21',
    ]);
  });

  it('may point to entities of the agent, and neither the agent nor others to its own', async () => {
    const to = async (client: GraphClient, target: string) => {
      const { body } = await client.relations({ source: 'shared', target, type: 'to' });
      return 'error' in body ? body.error.param : 'stored';
    };
    expect(await to(ann, idOf('agent-1'))).toBe('stored');
    expect(await to(agent, idOf('ann-1'))).toBe('relations[0].target');
    expect(await to(bob, idOf('ann-1'))).toBe('relations[0].target');
    expect(await to(ann, idOf('theirs-1'))).toBe('relations[0].target');
    expect(await to(agent, 'ann-1')).toBe('relations[0].target');
  });

  it('writes to itself only', async () => {
    const entity = { name: 'x', type: 't' };
    const asAgent = await ann.entities(
      { ...entity, scope: 'user' },
      { ...entity, name: 'y', scope: 'agent' },
    );
    expect([asAgent.status, asAgent.body.error.param]).toEqual([403, 'entities[1].scope']);
    expect((await agent.entities({ ...entity, scope: 'user' })).body.error).toMatchObject({
      code: 'acting_user_required',
      param: 'entities[0].scope',
    });
    expect((await ann.call('DELETE', `entities/${idOf('agent-1')}`)).body.error.code).toBe('user_mismatch');
    expect((await ann.call('DELETE', `entities/${idOf('bob-1')}`)).body.error.code).toBe('not_found');
    expect((await agent.call('DELETE', `entities/${idOf('ann-1')}`)).body.error.code).toBe('not_found');
    const changed = await ann.entities({ external_id: 'agent-1', name: 'agent-1', type: 'mine' });
    expect(changed.body.created).toBe(1);
    expect((await agent.call('GET', `entities/${idOf('agent-1')}`)).body.type).toBe('thing');
    await ann.call('DELETE', `entities/${changed.body.data[0]?.id ?? ''}`);
  });
});

describe('a key', () => {
  it.each<[string, string, unknown, string]>([
    ['POST', 'entities', { entities: [{ name: 'a', type: 't' }] }, 'memory.write'],
    ['POST', 'relations', { relations: [{ source: 'shared', target: 'shared', type: 't' }] }, 'memory.write'],
    ['POST', 'extract', { text: 'a' }, 'memory.write'],
    ['DELETE', `entities/${newId()}`, undefined, 'memory.write'],
    ['GET', 'entities', undefined, 'memory.read'],
    ['GET', `entities/${newId()}`, undefined, 'memory.read'],
    ['POST', 'traverse', { start: ['shared'] }, 'memory.read'],
  ])('needs for %s %s its scope', async (method, path, body, scope) => {
    const call = async (as: As) => (await agent.by(as).call(method, path, body)).body.error;
    expect(await call({ ...mine.admin, scopes: ['chat', 'agents.write'] })).toMatchObject({
      code: 'scope_missing',
    });
    if (scope === 'memory.read') return;
    expect(await call({ ...mine.admin, scopes: ['memory.read', 'agents.write'] })).toMatchObject({
      code: 'scope_missing',
    });
    // Without an acting user it is the agent's graph, which needs agents.write too.
    expect(await call({ ...mine.admin, scopes: ['memory.write'] })).toMatchObject({ code: 'scope_missing' });
  });

  it('of another tenant meets the agent as if it did not exist', async () => {
    const foreign = agent.by(theirs.tenant.admin);
    for (const [method, path, body] of [
      ['GET', 'entities', undefined],
      ['POST', 'entities', { entities: [{ name: 'a', type: 't' }] }],
      ['POST', 'traverse', { start: ['agent-1'] }],
    ] as const)
      expect((await foreign.call(method, path, body)).body.error.message).toBe('There is no such agent.');
  });
});

describe('row-level security alone', () => {
  const inMine = (sql: string, ...values: unknown[]) =>
    withTenant(pool, mine.id, (db) => db.query(sql, values));

  it.each(['graphs', 'entities', 'relations'])('shows and changes only %s of the tenant', async (table) => {
    await expect(pool.query(`select id from memory.${table}`)).rejects.toMatchObject({ code: '42501' });
    const { rows } = await inMine(`select distinct tenant_id from memory.${table}`);
    expect(rows).toEqual([{ tenant_id: mine.id }]);
    const removed = await inMine(`delete from memory.${table} where tenant_id = $1`, theirs.tenant.id);
    expect(removed.rowCount).toBe(0);
    await expect(inMine(`update memory.${table} set tenant_id = $1`, theirs.tenant.id)).rejects.toMatchObject(
      { code: '42501' },
    );
  });

  it('keeps a relation of another tenant out of a walk without any filter', async () => {
    const { rows } = await inMine(
      `select distinct s.name from memory.relations as r join memory.entities as s on s.id in (r.source_id, r.target_id)`,
    );
    const names = rows.map(({ name }: { name: string }) => name);
    expect(names).toContain('agent-1');
    expect(names.filter((name) => name.startsWith('theirs'))).toEqual([]);
  });

  it('rejects a row for another tenant', async () => {
    await expect(
      inMine(
        `insert into memory.graphs (tenant_id, agent_id, user_id) values ($1, $2, '')`,
        theirs.tenant.id,
        newId(),
      ),
    ).rejects.toMatchObject({ code: '42501' });
  });

  it('covers every table', async () => {
    expect(await tablesWithoutPolicies(memory.database.adminUrl, 'memory')).toEqual([]);
  });
});
