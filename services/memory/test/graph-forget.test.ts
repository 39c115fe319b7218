import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant, type Pool } from '@gatehouse/pg/pool';
import { everything } from '../src/store/documents/removal-store.ts';
import { noLimits } from '../src/store/scopes/scope-store.ts';
import { upsertEntities } from '../src/store/graph/entity-store.ts';
import { GraphForgetStore } from '../src/store/graph/graph-forget-store.ts';
import { upsertRelations } from '../src/store/graph/relation-store.ts';
import { indexOnly } from '../src/config.ts';
import { GraphClient, type Fields } from './graph-client.ts';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
let pool: Pool;
let forgetting: GraphForgetStore;
let tenant: TestTenant;
let graph: GraphClient;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  const log = createLogger('test', 'silent');
  pool = createPool({ url: memory.database.url, role: 'memory_app', max: 2, log, settings: indexOnly });
  forgetting = new GraphForgetStore(pool);
});
afterAll(async () => {
  await pool.end();
  await memory.stop();
});
beforeEach(() => {
  tenant = memory.makeTenant();
  graph = new GraphClient(memory, tenant);
});

const keyOf = ({ id, agentId }: TestTenant) => ({ tenantId: id, agentId, analyser: 'english' as const });

/** A graph of the agent and two users, with relations between their entities and the agent's. */
async function fill(): Promise<{ ann: GraphClient; bob: GraphClient }> {
  const [ann, bob] = [graph.by(tenant.acting('ann')), graph.by(tenant.acting('bob'))];
  await graph.things('a', 'b', 'c');
  await graph.link('a>b', 'b>c');
  for (const client of [ann, bob]) {
    await client.things('own-1', 'own-2');
    await client.link('own-1>own-2', 'own-1>a', 'a>own-2');
  }
  return { ann, bob };
}

const count = async (): Promise<Record<string, number>> => {
  const [counts] = await memory.rows<Record<string, number>>(
    `select (select count(*)::int from memory.entities where tenant_id = $1) as entities,
            (select count(*)::int from memory.relations where tenant_id = $1) as relations,
            (select coalesce(sum(entities), 0)::int from memory.graphs where tenant_id = $1) as counted_entities,
            (select coalesce(sum(relations), 0)::int from memory.graphs where tenant_id = $1) as counted_relations,
            (select entities::int from memory.tenants where tenant_id = $1) as used_entities,
            (select relations::int from memory.tenants where tenant_id = $1) as used_relations`,
    [tenant.id],
  );
  return counts ?? {};
};
const counts = (entities: number, relations: number) => ({
  entities,
  relations,
  counted_entities: entities,
  counted_relations: relations,
  used_entities: entities,
  used_relations: relations,
});

describe('forgetting', () => {
  it('a user removes what that user has, with any agent, and nothing of others', async () => {
    await fill();
    const other = { ...tenant, agentId: memory.agents.add(tenant.id, 'other'), base: '' };
    other.base = `/v1/agents/${other.agentId}`;
    await new GraphClient(memory, other, tenant.acting('ann')).things('elsewhere');
    expect(await count()).toEqual(counts(8, 8));
    const removed = await forgetting.forgetUser({
      tenantId: tenant.id,
      userId: 'ann',
      requestedAt: new Date(),
    });
    expect(removed).toEqual({ entities: 3, relations: 3, completed: true });
    expect(await count()).toEqual(counts(5, 5));
    expect(await memory.rows(`select id from memory.graphs where user_id = 'ann'`)).toEqual([]);
    expect(
      await forgetting.forgetUser({ tenantId: tenant.id, userId: 'ann', requestedAt: new Date() }),
    ).toEqual({
      entities: 0,
      relations: 0,
      completed: true,
    });
  });

  it('an entity or relation goes with the earliest request that has left something in it', async () => {
    const now = Date.now();
    const [early, requestedAt, late] = [new Date(now - 3_000), new Date(now - 2_000), new Date(now - 1_000)];
    const store = (at: Date, fields: { description: string; properties?: Fields }, weight?: number) =>
      withTenant(pool, tenant.id, async (db) => {
        const write = { userId: 'ann', at, limits: noLimits };
        const of = { type: 't', properties: undefined };
        const entity = { externalId: 'x', name: 'x', ...of, ...fields };
        await upsertEntities(db, keyOf(tenant), write, [entity, { ...entity, externalId: 'y', name: 'y' }]);
        const times = { validFrom: undefined, validTo: undefined };
        await upsertRelations(db, keyOf(tenant), write, [
          { ...of, ...times, weight, properties: fields.properties, source: 'x', target: 'y' },
        ]);
      });
    const user = { tenantId: tenant.id, userId: 'ann', requestedAt };
    await store(late, { description: 'later', properties: { a: 1 } }, 2);
    expect(await forgetting.forgetUser(user)).toMatchObject({ entities: 0, relations: 0 });
    // A request that began before the deletion, and comes after the other one.
    await store(early, { description: 'earlier' }, 3);
    await store(late, { description: 'later' });
    expect(await forgetting.forgetUser(user)).toMatchObject({ entities: 2, relations: 1 });
  });

  it('one user of one agent leaves the graph usable', async () => {
    const { ann } = await fill();
    const removed = await forgetting.forget(keyOf(tenant), everything(['ann']));
    expect(removed).toEqual({ entities: 2, relations: 3, completed: true });
    expect(await ann.reach({ start: ['a'], depth: 1 })).toBe('a0 b1');
    expect((await ann.entities({ name: 'again', type: 't' })).status).toBe(200);
  });

  it('an agent removes what it and its users have', async () => {
    await fill();
    // Only once it is marked as deleted.
    const nothing = { entities: 0, relations: 0, completed: true };
    expect(await forgetting.forgetAgent(keyOf(tenant))).toEqual(nothing);
    await memory.rows('update memory.agents set deleted_at = now() where tenant_id = $1', [tenant.id]);
    expect(await forgetting.forgetAgent(keyOf(tenant))).toEqual({
      entities: 7,
      relations: 8,
      completed: true,
    });
    expect(await count()).toEqual(counts(0, 0));
    expect(await memory.rows('select id from memory.graphs where tenant_id = $1', [tenant.id])).toEqual([]);
  });

  it('the agent’s own part removes the relations of users to it', async () => {
    const { ann } = await fill();
    expect(await forgetting.forget(keyOf(tenant), everything(['']))).toEqual({
      entities: 3,
      relations: 6,
      completed: true,
    });
    expect(await count()).toEqual(counts(4, 2));
    expect(await ann.reach({ start: ['own-1'] })).toBe('own-10 own-21');
  });

  it('a run removes what it has left, and the relations to it', async () => {
    await fill();
    const [runId, at] = [newId(), new Date()];
    const write = { userId: 'ann', at, runId, limits: noLimits };
    await withTenant(pool, tenant.id, async (db) => {
      const entity = { externalId: 'x', name: 'x', type: 't', description: undefined, properties: undefined };
      await upsertEntities(db, keyOf(tenant), write, [entity]);
      const relation = {
        type: 't',
        weight: 1,
        properties: undefined,
        validFrom: undefined,
        validTo: undefined,
      };
      await upsertRelations(db, keyOf(tenant), write, [{ ...relation, source: 'a', target: 'b' }]);
    });
    await graph.by(tenant.acting('ann')).link('x>own-1');
    expect(await count()).toEqual(counts(8, 10));
    const byRun = { ...everything('all'), runId };
    expect(await forgetting.forget(keyOf(tenant), byRun)).toEqual({
      entities: 1,
      relations: 2,
      completed: true,
    });
    expect(await count()).toEqual(counts(7, 8));
  });

  it('by a path or a session matches nothing', async () => {
    await fill();
    const none = { entities: 0, relations: 0, completed: true };
    expect(await forgetting.forget(keyOf(tenant), { ...everything(['']), pathPrefix: 'a' })).toEqual(none);
    expect(await forgetting.forget(keyOf(tenant), { ...everything('all'), sessionId: 's' })).toEqual(none);
    expect(await count()).toEqual(counts(7, 8));
  });

  it('a large graph takes several transactions, and says when more is left', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `e${index}`);
    for (const part of ['x', 'y', 'z']) await graph.things(...names.map((name) => part + name));
    for (const type of ['1', '2', '3', '4', '5', '6'])
      await graph.relations(...names.map((name) => ({ source: 'xe0', target: `x${name}`, type })));
    const key = keyOf(tenant);
    expect(await forgetting.forget(key, everything('all'), 0)).toEqual({
      entities: 0,
      relations: 0,
      completed: false,
    });
    expect(await forgetting.forget(key, everything('all'))).toEqual({
      entities: 3_000,
      relations: 6_000,
      completed: true,
    });
    expect(await count()).toEqual(counts(0, 0));
  });
});

describe('the limit of a tenant', () => {
  const entity = (name: string) => ({
    externalId: name,
    name,
    type: 't',
    description: undefined,
    properties: undefined,
  });
  const write = { userId: '', at: new Date(), limits: { entities: 3, bytes: null } };
  const store = (...names: string[]) =>
    withTenant(pool, tenant.id, (db) => upsertEntities(db, keyOf(tenant), write, names.map(entity)));

  it('is never exceeded by entities, also by concurrent requests', async () => {
    const results = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((name) => store(name)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    await expect(store('x')).rejects.toMatchObject({ code: 'limit_reached', status: 403 });
    expect((await count())['entities']).toBe(3);
    const [known] = (await graph.call('GET', 'entities')).body.data;
    expect((await store(known?.external_id ?? '')).updated).toBe(1);
  });

  it('allows 50 versions of relations for each entity', async () => {
    await graph.things('a', 'b');
    const relation = {
      source: 'a',
      target: 'b',
      weight: 1,
      properties: undefined,
      validFrom: undefined,
      validTo: undefined,
    };
    const relations = Array.from({ length: 151 }, (_, index) => ({ ...relation, type: `t${index}` }));
    const link = (batch: typeof relations) =>
      withTenant(pool, tenant.id, (db) => upsertRelations(db, keyOf(tenant), write, batch));
    await expect(link(relations)).rejects.toMatchObject({ code: 'limit_reached' });
    expect((await link(relations.slice(1))).created).toBe(150);
    await expect(link(relations.slice(0, 1))).rejects.toMatchObject({ code: 'limit_reached' });
  });
});
