import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Client } from 'pg';
import { GraphClient } from './graph-client.ts';
import { MemoryServiceUnderTest } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
let graph: GraphClient;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
});
afterAll(() => memory.stop());
beforeEach(() => {
  graph = new GraphClient(memory, memory.makeTenant());
});

describe('a traversal', () => {
  it('returns each entity once with its shortest distance, over cycles and self-loops', async () => {
    await graph.things('a', 'b', 'c', 'd', 'far');
    await graph.link('a>b:4', 'b>c:3', 'c>a:2', 'c>d:1', 'd>d', 'd>far');
    expect(await graph.reach({ start: ['a'], direction: 'out', depth: 3 })).toBe('a0 b1 c2 d3');
    expect(await graph.reach({ start: ['a'], direction: 'in' })).toBe('a0 c1 b2');
    expect(await graph.reach({ start: ['a'] })).toBe('a0 b1 c1 d2');
    expect(await graph.reach({ start: ['a', 'c', 'a'], depth: 1 })).toBe('a0 c0 b1 d1');
    const { nodes, edges, truncated } = (await graph.traverse({ start: ['d'], depth: 1 })).body;
    expect(nodes[0]).toEqual({
      id: nodes[0]?.id,
      external_id: 'd',
      name: 'd',
      type: 'thing',
      description: null,
      properties: {},
      distance: 0,
    });
    expect(edges.map(({ source, target }) => [source, target])).toEqual(
      expect.arrayContaining([[nodes[0]?.id, nodes[0]?.id]]),
    );
    expect(edges).toHaveLength(3);
    expect(truncated).toBe(false);
  });

  it('follows the strongest relations where fan_out cuts, and says so', async () => {
    await graph.things('a', 'b', 'c', 'd');
    await graph.link('a>b:1', 'c>a:3', 'a>d:2');
    expect(await graph.reach({ start: ['a'], fan_out: 2 })).toBe('a0 c1 d1');
    expect((await graph.traverse({ start: ['a'], fan_out: 2 })).body.truncated).toBe(true);
    expect((await graph.traverse({ start: ['a'], fan_out: 3 })).body.truncated).toBe(false);
  });

  it('stops at max_nodes with the strongest, and says so', async () => {
    await graph.things('a', 'b', 'c', 'd');
    await graph.link('a>b:1', 'a>c:3', 'a>d:2');
    expect(await graph.reach({ start: ['a'], max_nodes: 3 })).toBe('a0 c1 d1');
    expect((await graph.traverse({ start: ['a'], max_nodes: 3 })).body.truncated).toBe(true);
    expect((await graph.traverse({ start: ['a'], max_nodes: 4 })).body.truncated).toBe(false);
    expect(await graph.reach({ start: ['a', 'b', 'c'], max_nodes: 2 })).toBe('a0 b0');
  });

  it('reads a start as an id, then an external id, then a name of several entities', async () => {
    const [first] = await graph.things('x');
    await graph.entities(
      { external_id: first, name: 'not by the id of another', type: 't' },
      { name: 'X', type: 'other' },
      { external_id: 'y', name: 'x', type: 't' },
      { name: 'Twin', type: 'one' },
      { name: 'TWIN', type: 'two' },
    );
    expect(await graph.reach({ start: [first?.toUpperCase()] })).toBe('x0');
    expect(await graph.reach({ start: ['x'] })).toBe('x0');
    expect((await graph.reach({ start: ['twin'] })).split(' ').sort()).toEqual(['TWIN0', 'Twin0']);
    expect((await graph.reach({ start: ['X'] })).split(' ').sort()).toEqual(['X0', 'x0', 'x0']);
  });

  it('follows relations of the given types, to entities of the given types', async () => {
    await graph.things('a', 'b', 'c');
    await graph.entities({ external_id: 'p', name: 'p', type: 'Person' });
    await graph.relations(
      { source: 'a', target: 'b', type: 'one' },
      { source: 'a', target: 'c', type: 'Two' },
      { source: 'a', target: 'p', type: 'one' },
    );
    expect(await graph.reach({ start: ['a'], relation_types: ['Two', 'none'] })).toBe('a0 c1');
    expect(await graph.reach({ start: ['a'], relation_types: ['two'] })).toBe('a0');
    expect(await graph.reach({ start: ['a'], entity_types: ['person'], fan_out: 1 })).toBe('a0 p1');
    const { edges } = (await graph.traverse({ start: ['a', 'b', 'c'], relation_types: ['one'] })).body;
    expect(edges.map(({ type }) => type)).toEqual(['one', 'one']);
  });

  it('sees relations as of a time in any zone', async () => {
    await graph.things('a', 'b', 'c');
    await graph.relations(
      {
        source: 'a',
        target: 'b',
        type: 't',
        valid_from: '2024-01-01T00:00:00Z',
        valid_to: '2025-01-01T00:00:00Z',
      },
      { source: 'a', target: 'c', type: 't', valid_from: '2025-01-01T00:00:00+01:00', weight: 0.5 },
    );
    const at = (asOf?: string) => graph.reach({ start: ['a'], ...(asOf !== undefined && { as_of: asOf }) });
    expect(await at()).toBe('a0 c1');
    expect(await at('2023-12-31T23:59:59.999Z')).toBe('a0');
    expect(await at('2024-01-01T09:00:00+09:00')).toBe('a0 b1');
    expect(await at('2023-12-31T19:00:00-05:00')).toBe('a0 b1');
    expect(await at('2024-12-31T23:30:00Z')).toBe('a0 b1 c1');
    expect(await at('2025-01-01T00:00:00Z')).toBe('a0 c1');
    expect((await graph.traverse({ start: ['a'], as_of: 'yesterday' })).body.error.param).toBe('as_of');
  });

  it.each([
    [{ depth: 0 }, 400, 'depth'],
    [{ depth: 6 }, 400, 'depth'],
    [{ max_nodes: 2_001 }, 400, 'max_nodes'],
    [{ fan_out: 501 }, 400, 'fan_out'],
    [{ fan_out: 0 }, 400, 'fan_out'],
    [{ direction: 'up' }, 400, 'direction'],
    [{ start: [] }, 400, 'start'],
    [{ start: Array.from({ length: 21 }, () => 'a') }, 400, 'start'],
    [{ start: ['a', 'nobody'] }, 404, 'start[1]'],
    [{ start: ['a', newId()] }, 404, 'start[1]'],
    [{ hops: 2 }, 400, 'hops'],
  ])('answers %j with %d', async (given, status, param) => {
    await graph.things('a');
    const answer = await graph.traverse({ start: ['a'], ...given });
    expect(answer.status).toBe(status);
    expect(answer.body.error.param).toBe(param);
    expect(answer.body.error.code).toBe(
      status === 404 ? 'not_found' : param === 'hops' ? 'unknown_parameter' : 'invalid_value',
    );
  });

  it('accepts every bound itself', async () => {
    await graph.things('a');
    for (const bounds of [
      { depth: 1, max_nodes: 1, fan_out: 1 },
      { depth: 5, max_nodes: 2_000, fan_out: 500, start: Array.from({ length: 20 }, () => 'a') },
    ])
      expect(await graph.reach({ start: ['a'], ...bounds })).toBe('a0');
  });

  it('returns 10,000 relations at most, and says so', async () => {
    const names = Array.from({ length: 101 }, (_, index) => `e${index}`);
    await graph.things(...names);
    const pairs = names.flatMap((source) => names.map((target) => ({ source, target, type: 't' })));
    for (let from = 0; from < pairs.length; from += 1_000)
      await graph.relations(...pairs.slice(from, from + 1_000));
    const all = { start: names.slice(0, 1), max_nodes: 101, fan_out: 200, depth: 1 };
    const { nodes, edges, truncated } = (await graph.traverse(all)).body;
    expect([nodes.length, edges.length, truncated]).toEqual([101, 10_000, true]);
    expect(new Set(edges.map(({ id }) => id)).size).toBe(10_000);
  });

  it('returns only as many entities as fit into a response, and says so', async () => {
    await graph.things('a');
    const names = Array.from({ length: 70 }, (_, index) => `e${index}`);
    for (let from = 0; from < 70; from += 14)
      await graph.entities(
        ...names
          .slice(from, from + 14)
          .map((name) => ({ external_id: name, name, type: 't', properties: { text: 'x'.repeat(64_000) } })),
      );
    await graph.link(...names.map((name) => `a>${name}`));
    const { nodes, edges, truncated } = (await graph.traverse({ start: ['a'], fan_out: 100 })).body;
    expect(truncated).toBe(true);
    expect(nodes.length).toBeGreaterThan(40);
    expect(nodes.length).toBeLessThan(52);
    expect(edges).toHaveLength(nodes.length - 1);
  });

  it('of a hub looks at the strongest relations for rare types, and says so', async () => {
    const [hub] = await graph.things('hub');
    await addSpokes(graph, hub ?? '', 30_000);
    const rare = { start: ['hub'], entity_types: ['rare'], fan_out: 10 };
    const { nodes, edges, truncated } = (await graph.traverse(rare)).body;
    expect(nodes.map(({ name }) => name)).toEqual(['hub', 'spoke 100']);
    expect([edges.length, truncated]).toEqual([1, true]);
    const away = (await graph.traverse({ ...rare, start: ['spoke 100'], direction: 'out' })).body;
    expect([away.nodes.length, away.truncated]).toEqual([1, false]);
  });

  it('that takes too long returns what it has found, and says so', async () => {
    await graph.things('a', 'b');
    await graph.link('a>b');
    const blocker = new Client({ connectionString: memory.database.adminUrl });
    await blocker.connect();
    try {
      await blocker.query('begin');
      await blocker.query('lock table memory.relations in access exclusive mode');
      const { nodes, edges, truncated } = (await graph.traverse({ start: ['a'] })).body;
      expect([nodes.map(({ name }) => name), edges, truncated]).toEqual([['a'], [], true]);
    } finally {
      await blocker.end();
    }
    expect(await graph.reach({ start: ['a'] })).toBe('a0 b1');
  });
});

/** Relations from a hub to so many entities, each weaker than the one before. Number 100 and the last are of the type `rare`. */
async function addSpokes({ tenant }: GraphClient, hub: string, count: number): Promise<void> {
  const typeOf = `case when n in (100, $3::integer) then 'rare' else 'thing' end`;
  await memory.rows(
    `with made as (
       insert into memory.entities (id, tenant_id, graph_id, name, type, name_key, type_key, properties)
       select gen_random_uuid(), $2, e.graph_id, 'spoke ' || n, ${typeOf}, 'spoke ' || n, ${typeOf}, '{}'
       from memory.entities as e, generate_series(1, $3::integer) as n where e.id = $1::uuid and e.tenant_id = $2
       returning id, graph_id, substr(name, 7)::integer as n
     )
     insert into memory.relations
       (id, tenant_id, graph_id, source_id, target_id, type, weight, properties, valid_from)
     select gen_random_uuid(), $2, graph_id, $1::uuid, id, 'has', 1.0 / n, '{}', '2020-01-01' from made`,
    [hub, tenant.id, count],
  );
}
