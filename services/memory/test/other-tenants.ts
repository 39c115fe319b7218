import type { ServiceGround } from '@gatehouse/test/service-ground';

const tenants = 3_000;

/**
 * Fills the database with the memories of other tenants, each with a few rows, and keeps PostgreSQL's statistics as they
 * then are: it expects one row of each scope and each graph, whatever a test adds.
 */
export async function addOtherTenants(ground: ServiceGround): Promise<void> {
  const tables = await ground.rows<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'memory'::regnamespace and relkind = 'r'`,
  );
  for (const { name } of tables)
    await ground.rows(`alter table memory.${name} set (autovacuum_enabled = off)`);
  // Only a superuser sees rows of several tenants. The references are valid, so their triggers need not run.
  await ground.rows(`set session_replication_role = replica`);
  for (const statement of statements) await ground.rows(statement);
  await ground.rows('set session_replication_role = origin');
  await ground.rows('vacuum analyze');
}

const statements = [
  `insert into memory.agents (tenant_id, agent_id, analyser)
   select md5('tenant ' || n)::uuid, md5('agent ' || n)::uuid, 'english' from generate_series(1, ${tenants}) as n`,
  `insert into memory.tenants (tenant_id, documents, bytes, entities, relations)
   select tenant_id, 2, 14, 4, 4 from memory.agents`,
  `insert into memory.scopes (tenant_id, agent_id, user_id, documents, chunks, bytes, next_number, tokens)
   select tenant_id, agent_id, 'user of ' || agent_id, 2, 4, 14, 4, 40 from memory.agents`,
  `insert into memory.documents (id, tenant_id, scope_id, path, metadata, source_kind, text, bytes, chunks)
   select md5('document ' || s.id || n)::uuid, s.tenant_id, s.id, 'notes/' || n, '{}', 'api', 'A note.', 7, 2
   from memory.scopes as s, generate_series(1, 2) as n`,
  `insert into memory.chunks (tenant_id, scope_id, number, document_id, start_line, end_line, context, text, analyser,
     length, terms, counts)
   select d.tenant_id, d.scope_id, row_number() over (partition by d.scope_id order by d.id, n) - 1, d.id, 1, 1, '',
          'A note.', 'english', 10, array(select w from generate_series(n, n + 9) as w), array_fill(1, array[10])
   from memory.documents as d, generate_series(1, 2) as n`,
  `insert into memory.postings (tenant_id, scope_id, term, block, entries)
   select tenant_id, scope_id, term, 0, string_agg(int4send((number << 22) + 65536 + length), '' order by number)
   from memory.chunks, unnest(terms) as term group by 1, 2, 3`,
  `insert into memory.embeddings (tenant_id, scope_id, number, model, vector, sketch)
   select tenant_id, scope_id, number, 'embed-small', decode(repeat('0000803f', 8), 'hex'), B'11111111'
   from memory.chunks`,
  `insert into memory.graphs (tenant_id, agent_id, user_id, entities, relations)
   select tenant_id, agent_id, user_id, 4, 4 from memory.scopes`,
  `insert into memory.entities (id, tenant_id, graph_id, name, type, name_key, type_key, properties)
   select md5('entity ' || g.id || '.' || n)::uuid, g.tenant_id, g.id, 'Entity ' || n, 'person', 'entity ' || n,
          'person', '{}'
   from memory.graphs as g, generate_series(1, 4) as n`,
  `insert into memory.relations (id, tenant_id, graph_id, source_id, target_id, type, weight, properties, valid_from)
   select md5('relation ' || g.id || '.' || n)::uuid, g.tenant_id, g.id, md5('entity ' || g.id || '.' || n)::uuid,
          md5('entity ' || g.id || '.' || n % 4 + 1)::uuid, 'knows', 1, '{}', now()
   from memory.graphs as g, generate_series(1, 4) as n`,
];

/**
 * Adds documents with five passages each to the scope that `of` finds, as the service stores them. A quarter of them are
 * turns of conversations. Through the API it takes ten times as long.
 */
export async function addPassages(ground: ServiceGround, of: string, documents: number): Promise<void> {
  const scope = `(select * from memory.scopes as s where ${of})`;
  const words = `select w % 4000 as w from generate_series((d.n * 5 + c) * 37, (d.n * 5 + c) * 37 + 49) as w`;
  await ground.rows(
    `with made as (
       insert into memory.documents (id, tenant_id, scope_id, path, metadata, source_kind, session_id, text, bytes, chunks)
       select gen_random_uuid(), tenant_id, id, 'bulk/' || n, '{}', case when n % 4 = 0 then 'conversation' else 'api' end,
              case when n % 4 = 0 then 'session ' || n end, 'A note.', 7, 5
       from ${scope} as s, generate_series(1, ${documents}) as n
       returning id, tenant_id, scope_id, substr(path, 6)::integer as n
     )
     insert into memory.chunks (tenant_id, scope_id, number, document_id, start_line, end_line, context, text, analyser,
       length, terms, counts)
     select d.tenant_id, d.scope_id, s.next_number + (d.n - 1) * 5 + c - 1, d.id, 1, 1, '', 'A note.', 'english', 50,
            array(${words}), array_fill(1, array[50])
     from made as d join ${scope} as s on s.id = d.scope_id, generate_series(1, 5) as c`,
  );
  await ground.rows(
    `insert into memory.postings as p (tenant_id, scope_id, term, block, entries)
     select c.tenant_id, c.scope_id, term, c.number / 1024,
            string_agg(int4send(((c.number % 1024)::bigint << 22 | 65536 | c.length)::bit(32)::integer), ''::bytea
                       order by c.number)
     from memory.chunks as c join ${scope} as s on s.id = c.scope_id, unnest(c.terms) as term
     where c.number >= s.next_number group by 1, 2, 3, 4
     on conflict (tenant_id, scope_id, term, block) do update set entries = p.entries || excluded.entries`,
  );
  await ground.rows(
    `update memory.tenants set documents = documents + ${documents}, bytes = bytes + ${documents * 7}
     where tenant_id in (select tenant_id from ${scope} as s)`,
  );
  await ground.rows(
    `update memory.scopes as s set documents = documents + ${documents}, chunks = chunks + ${documents * 5},
       bytes = bytes + ${documents * 7}, tokens = tokens + ${documents * 250}, next_number = next_number + ${documents * 5}
     where ${of}`,
  );
}
