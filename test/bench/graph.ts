import { traverseGraph } from '@gatehouse/contract/graph';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool } from '@gatehouse/pg/pool';
import { indexOnly } from '@gatehouse/service-memory/config';
import { TraversalStore } from '@gatehouse/service-memory/store/graph/traversal-store';
import { Client } from 'pg';
import { percentile, withDatabase } from './database.ts';

/**
 * `make bench`: how fast the knowledge graph is traversed with a million relations of one agent between 50,000 entities,
 * the largest of which have about 10,000 relations, one in twenty of them closed.
 */

const entities = 50_000;
const relations = 1_000_000;
const warmUp = 20;
const ofAgent = '';

const key = { tenantId: newId(), agentId: newId() };

await withDatabase('memory', async ({ adminUrl, url }) => {
  await load(adminUrl);
  await measure(url);
});

/** Relations are drawn so that few entities have most of them. */
async function load(adminUrl: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  const startedAt = performance.now();
  const end = (of: string) =>
    `lpad(to_hex(floor(${entities} * power(random(), 2.1))::int + ${of}), 32, '0')::uuid`;
  const { rows } = await client.query<{ id: string }>(
    'insert into memory.graphs (tenant_id, agent_id, user_id, entities, relations) values ($1, $2, $3, $4, $5) returning id',
    [key.tenantId, key.agentId, ofAgent, entities, relations],
  );
  const values = [key.tenantId, rows[0]?.id];
  await client.query(
    `insert into memory.entities (tenant_id, graph_id, id, name, name_key, type, type_key, properties)
     select $1, $2, lpad(to_hex(number), 32, '0')::uuid, 'Entity ' || number, 'entity ' || number, 'thing', 'thing',
            '{"colour": "blue", "size": 12}'
     from generate_series(0, ${entities - 1}) as number`,
    values,
  );
  // The checks of foreign keys would take most of the time.
  await client.query('set session_replication_role = replica');
  await client.query(
    `insert into memory.relations (tenant_id, graph_id, id, source_id, target_id, type, weight, properties, valid_from,
       valid_to)
     select $1, $2, gen_random_uuid(), ${end('0')}, ${end('0')}, 'type_' || number % 10, random(), '{}',
            now() - interval '1 year' + number * interval '1 second',
            case when number % 20 = 0 then now() - interval '1 day' end
     from generate_series(1, ${relations}) as number`,
    values,
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  await client.query('vacuum analyze memory.graphs, memory.entities, memory.relations');
  const sizes = await client.query<{ name: string; size: string }>(
    `select indexrelname as name, pg_size_pretty(pg_relation_size(indexrelid)) as size
     from pg_stat_user_indexes where relname = 'relations' order by pg_relation_size(indexrelid) desc`,
  );
  const degrees = await client.query<{ degree: string }>(
    `select count(*) as degree from (
       select source_id as id from memory.relations union all select target_id from memory.relations
     ) as ends group by id order by 1 desc limit 1`,
  );
  await client.end();
  console.log(`graph of ${relations} relations between ${entities} entities`);
  console.log(`  inserted in s                      ${seconds.toFixed(0)}`);
  console.log(`  relations of the largest entity    ${degrees.rows[0]?.degree ?? ''}`);
  for (const { name, size } of sizes.rows) console.log(`  ${name.padEnd(35)}${size}`);
}

async function measure(url: string): Promise<void> {
  const log = createLogger('bench', 'silent');
  const pool = createPool({ url, role: 'memory_app', max: 8, log, settings: indexOnly });
  const store = new TraversalStore(pool);
  const cases = [
    { what: 'any entity', maxNodes: 100, rounds: 400, clients: 1, hubs: false },
    { what: 'a hub', maxNodes: 100, rounds: 400, clients: 1, hubs: true },
    { what: 'any entity, 8 clients', maxNodes: 100, rounds: 400, clients: 8, hubs: false },
    { what: 'any entity', maxNodes: 2_000, rounds: 60, clients: 1, hubs: false },
    { what: 'a hub', maxNodes: 2_000, rounds: 60, clients: 1, hubs: true },
  ];
  console.log('\ntraverse, depth 3, fan_out 25, both directions     p50 ms   p95 ms   nodes   edges');
  for (const { what, maxNodes, rounds, clients, hubs } of cases) {
    const times: number[] = [];
    let [nodes, edges] = [0, 0];
    const client = async (count: number): Promise<void> => {
      for (let round = 0; round < count; round += 1) {
        const start = Math.floor(Math.random() * (hubs ? 100 : entities));
        const query = traverseGraph.parse({
          start: [`Entity ${start}`],
          depth: 3,
          fan_out: 25,
          max_nodes: maxNodes,
        });
        const startedAt = performance.now();
        const subgraph = await store.traverse(key, [ofAgent], { ...query, asOf: null });
        times.push(performance.now() - startedAt);
        nodes += subgraph.nodes.length;
        edges += subgraph.edges.length;
      }
    };
    await Promise.all(Array.from({ length: clients }, () => client(Math.ceil((rounds + warmUp) / clients))));
    const mean = (sum: number) => (sum / times.length).toFixed(0).padStart(8);
    const at = (share: number) => percentile(times.slice(warmUp), share).toFixed(1).padStart(9);
    console.log(
      `  from ${what}, max_nodes ${maxNodes}`.padEnd(49) + at(0.5) + at(0.95) + mean(nodes) + mean(edges),
    );
  }
  await pool.end();
}
