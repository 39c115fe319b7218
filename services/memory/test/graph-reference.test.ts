import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { traverseGraph, type TraverseGraph } from '@gatehouse/contract/graph';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { ServiceGround } from '@gatehouse/test/service-ground';
import fc from 'fast-check';
import { MultiDirectedGraph } from 'graphology';
import { indexOnly } from '../src/config.ts';
import { TraversalStore } from '../src/store/graph/traversal-store.ts';

/** Traversals of random graphs in PostgreSQL, against a breadth-first search of the same graphs in memory. */

const graphs = 1_000;
const day = (number: number): string => new Date(Date.UTC(2026, 0, number)).toISOString();

let ground: ServiceGround;
let pool: Pool;
beforeAll(async () => {
  ground = await ServiceGround.prepare('memory');
  const log = createLogger('test', 'silent');
  pool = createPool({ url: ground.database.url, role: 'memory_app', max: 1, log, settings: indexOnly });
});
afterAll(async () => {
  await pool.end();
  await ground.stop();
});

interface Relation {
  source: number;
  target: number;
  type: string;
  weight: number;
  from: number;
  /** Days that it is valid; null: no end. */
  days: number | null;
  ofUser: boolean;
}

interface RandomGraph {
  /** The type of each entity. */
  entities: string[];
  relations: Relation[];
  query: Omit<TraverseGraph, 'start' | 'as_of'>;
  starts: number[];
  asOf: number;
  asUser: boolean;
}

const types = ['one', 'two', 'three'];
const type = fc.constantFrom(...types);
const filter = fc.oneof(
  { weight: 2, arbitrary: fc.constant<string[]>([]) },
  { weight: 1, arbitrary: fc.subarray(types, { minLength: 1 }) },
);

const randomGraph = fc.noBias(fc.integer({ min: 1, max: 14 })).chain((size) => {
  const index = fc.noBias(fc.integer({ min: 0, max: size - 1 }));
  return fc.record({
    entities: fc.array(type, { minLength: size, maxLength: size }),
    relations: fc.array(
      fc.record({
        source: index,
        target: index,
        type,
        weight: fc.constantFrom<number[]>(0, 0.5, 1, 2),
        from: fc.integer({ min: 1, max: 4 }),
        days: fc.option(fc.integer({ min: 1, max: 6 }), { freq: 1 }),
        ofUser: fc.boolean(),
      }),
      { minLength: size, maxLength: 40, size: 'max' },
    ),
    query: fc.record({
      depth: fc.noBias(fc.integer({ min: 1, max: 5 })),
      direction: fc.constantFrom<TraverseGraph['direction'][]>('out', 'in', 'both'),
      relation_types: filter,
      entity_types: filter,
      max_nodes: fc.noBias(fc.integer({ min: 1, max: 14 })),
      fan_out: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constant(500)),
    }),
    starts: fc.uniqueArray(index, { minLength: 1, maxLength: 3 }),
    asOf: fc.integer({ min: 2, max: 8 }),
    asUser: fc.boolean(),
  });
});

interface Stored {
  key: { tenantId: string; agentId: string };
  ids: string[];
  relationIds: string[];
}

/** Stores the graph of an agent, with the relations of one user. */
async function store({ entities, relations }: RandomGraph): Promise<Stored> {
  const key = { tenantId: newId(), agentId: newId() };
  const ids = entities.map(() => newId());
  const relationIds = relations.map(() => newId());
  const each = relations.map(({ source, target, from, days, ...relation }) => ({
    ...relation,
    source: ids[source],
    target: ids[target],
    begin: day(from),
    end: days === null ? null : day(from + days),
  }));
  await ground.rows(
    `with graph as (
       insert into memory.graphs (tenant_id, agent_id, user_id) values ($1, $2, ''), ($1, $2, 'ann')
       returning id, user_id
     ), entity as (
       insert into memory.entities (tenant_id, graph_id, id, name, name_key, type, type_key, properties)
       select $1, graph.id, entity.id, entity.id::text, entity.id::text, type, type, '{}'
       from graph, unnest($3::uuid[], $4::text[]) as entity (id, type) where user_id = ''
     )
     insert into memory.relations
       (tenant_id, graph_id, id, source_id, target_id, type, weight, properties, valid_from, valid_to)
     select $1, graph.id, relation.id, source, target, type, weight, '{}', "begin", "end"
     from unnest($5::uuid[]) with ordinality as relation (id, position)
     join rows from (json_to_recordset($6) as (source uuid, target uuid, type text, weight float8,
       "begin" timestamptz, "end" timestamptz, "ofUser" boolean)) with ordinality
       as each (source, target, type, weight, "begin", "end", of_user, position) using (position)
     join graph on of_user = (user_id <> '')`,
    [key.tenantId, key.agentId, ids, entities, relationIds, JSON.stringify(each)],
  );
  return { key, ids, relationIds };
}

interface Found {
  nodes: string[];
  edges: string[];
  truncated: boolean;
}

/** A breadth-first search over the relations that count. */
function search(random: RandomGraph, { ids, relationIds }: Stored): Found {
  const { query, starts } = random;
  const graph = visibleGraph(random, { ids, relationIds });
  const wanted = (id: string) =>
    query.entity_types.length === 0 ||
    query.entity_types.includes(String(graph.getNodeAttribute(id, 'type')));
  const followed = (id: string) => {
    const near: { id: string; weight: number }[] = [];
    const add = (_edge: string, { weight }: { weight?: number }, source: string, target: string) => {
      const other = source === id ? target : source;
      if (other !== id && wanted(other)) near.push({ id: other, weight: weight ?? 0 });
    };
    if (query.direction !== 'in') graph.forEachOutEdge(id, add);
    if (query.direction !== 'out') graph.forEachInEdge(id, add);
    return strongestFirst(near);
  };
  const startIds = starts.map((index) => ids[index] ?? '');
  const distances = new Map(startIds.slice(0, query.max_nodes).map((id) => [id, 0]));
  let truncated = startIds.length > query.max_nodes;
  let frontier = [...distances.keys()];
  for (let distance = 1; distance <= query.depth && frontier.length > 0; distance += 1) {
    const near = frontier.map(followed);
    truncated ||= near.some(({ length }) => length > query.fan_out);
    const next = new Map<string, number>();
    for (const { id, weight } of near.flatMap((each) => each.slice(0, query.fan_out)))
      if (!distances.has(id)) next.set(id, Math.max(weight, next.get(id) ?? 0));
    const found = strongestFirst([...next].map(([id, weight]) => ({ id, weight })));
    const room = query.max_nodes - distances.size;
    frontier = found.slice(0, room).map(({ id }) => id);
    for (const id of frontier) distances.set(id, distance);
    if (found.length > room) {
      truncated = true;
      break;
    }
  }
  const edges = graph.filterEdges(
    (_edge, _attributes, source, target) => distances.has(source) && distances.has(target),
  );
  return {
    nodes: [...distances].map(([id, distance]) => `${id} ${distance}`),
    edges: edges.sort(),
    truncated,
  };
}

function strongestFirst(near: { id: string; weight: number }[]): { id: string; weight: number }[] {
  return near.sort((one, other) => other.weight - one.weight || (one.id < other.id ? -1 : 1));
}

function visibleGraph(
  { entities, relations, query, asOf, asUser }: RandomGraph,
  { ids, relationIds }: Pick<Stored, 'ids' | 'relationIds'>,
): MultiDirectedGraph {
  const graph = new MultiDirectedGraph();
  for (const [index, entityType] of entities.entries()) graph.addNode(ids[index], { type: entityType });
  for (const [index, { source, target, weight, ...relation }] of relations.entries()) {
    const isValid = relation.from <= asOf && (relation.days === null || relation.from + relation.days > asOf);
    const isWanted = query.relation_types.length === 0 || query.relation_types.includes(relation.type);
    const isVisible = asUser || !relation.ofUser;
    if (isValid && isWanted && isVisible)
      graph.addDirectedEdgeWithKey(relationIds[index], ids[source], ids[target], { weight });
  }
  return graph;
}

/** Versions of a relation begin at different times. */
function distinct(random: RandomGraph): RandomGraph {
  const relations = new Map(
    random.relations.map((each) => [
      [each.source, each.target, each.type, each.from, each.ofUser].join(),
      each,
    ]),
  );
  return { ...random, relations: [...relations.values()] };
}

it(`finds what a breadth-first search finds, in ${graphs} random graphs with all options`, async () => {
  const traversals = new TraversalStore(pool);
  let cut = 0;
  let reached = 0;
  await fc.assert(
    fc.asyncProperty(randomGraph.map(distinct), async (random) => {
      const stored = await store(random);
      const start = random.starts.map((index) => stored.ids[index] ?? '');
      const { as_of: _asOf, ...query } = traverseGraph.parse({ ...random.query, start });
      const users = random.asUser ? ['', 'ann'] : [''];
      const { nodes, edges, truncated } = await traversals.traverse(stored.key, users, {
        ...query,
        asOf: day(random.asOf),
      });
      const found = {
        nodes: nodes.map(({ id, distance }) => `${id} ${distance}`),
        edges: edges.map(({ id }) => id).sort(),
        truncated,
      };
      expect(found).toEqual(search(random, stored));
      cut += truncated ? 1 : 0;
      reached += nodes.some(({ distance }) => distance > 1) ? 1 : 0;
    }),
    { numRuns: graphs, endOnFailure: true },
  );
  // The test means something: many traversals were cut, and many went further than one step.
  expect(cut).toBeGreaterThan(graphs / 10);
  expect(reached).toBeGreaterThan(graphs / 10);
});

it('reads of a hub as many relations as it follows, from the index, under row-level security', async () => {
  const key = { tenantId: newId(), agentId: newId() };
  const [graph] = await ground.rows<{ id: string }>(
    `insert into memory.graphs (tenant_id, agent_id, user_id) values ($1, $2, '') returning id`,
    [key.tenantId, key.agentId],
  );
  await ground.rows(
    `insert into memory.entities (tenant_id, graph_id, id, name, name_key, type, type_key, properties)
     select $1, $2, gen_random_uuid(), name, name, 't', 't', '{}'
     from (select 'e' || number as name from generate_series(0, 5000) as number) as named`,
    [key.tenantId, graph?.id],
  );
  await ground.rows(
    `insert into memory.relations
       (tenant_id, graph_id, id, source_id, target_id, type, weight, properties, valid_from)
     select $1, $2, gen_random_uuid(), s.id, t.id, 't', random(), '{}', now()
     from memory.entities as s join memory.entities as t on t.graph_id = s.graph_id and t.name = 'e0'
     where s.graph_id = $2 and s.name <> 'e0'`,
    [key.tenantId, graph?.id],
  );
  const read = async (): Promise<number> => {
    await pool.query('select pg_stat_force_next_flush()');
    await pool.query('select 1');
    const [index] = await ground.rows<{ read: number }>(
      `select idx_tup_read::int as read from pg_stat_user_indexes where indexrelname = 'relations_target_idx'`,
    );
    return index?.read ?? 0;
  };
  const before = await read();
  const { as_of: _asOf, ...query } = traverseGraph.parse({
    start: ['e0'],
    direction: 'in',
    fan_out: 10,
    depth: 1,
  });
  const { nodes, truncated } = await new TraversalStore(pool).traverse(key, [''], { ...query, asOf: null });
  expect([nodes.length, truncated]).toEqual([11, true]);
  // PostgreSQL reports what a connection that has just closed did a moment later.
  const rows = await eventually(async () => {
    const sofar = (await read()) - before;
    expect(sofar).toBeGreaterThanOrEqual(10);
    return sofar;
  });
  expect(rows).toBeLessThan(40);
});
