import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { withTenant } from '@gatehouse/pg/pool';
import { putDocument } from '../src/store/documents/document-store.ts';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';
import { StoredVectors } from './stored-vectors.ts';

let memory: MemoryServiceUnderTest;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
});
afterAll(() => memory.stop());

/** An agent stays in the cache for five seconds. */
const noticedMs = 50_000;

/** How many passages of a tenant were analysed by each analyser. */
async function analysed(tenant: TestTenant): Promise<Record<string, number>> {
  const rows = await memory.rows<{ analyser: string; chunks: number }>(
    'select analyser, count(*)::int as chunks from memory.chunks where tenant_id = $1 group by 1',
    [tenant.id],
  );
  return Object.fromEntries(rows.map(({ analyser, chunks }) => [analyser, chunks]));
}

async function changeAnalyser(tenant: TestTenant, analyser: string, passages: number): Promise<void> {
  memory.agents.setAnalyser(tenant.agentId, analyser);
  await eventually(async () => {
    await memory.search(tenant, { query: 'anything' });
    expect(await analysed(tenant)).toEqual({ [`${analyser}/2`]: passages });
  }, noticedMs);
  await eventually(async () =>
    expect(await memory.rows('select mixed from memory.agents where tenant_id = $1', [tenant.id])).toEqual([
      { mixed: false },
    ]),
  );
}

/** The contents of the index, without the numbers of passages, which differ. */
async function index(tenant: TestTenant): Promise<unknown[]> {
  return memory.rows(
    `select s.user_id, s.chunks, s.tokens, p.term, sum(octet_length(p.entries)) as bytes
     from memory.scopes as s join memory.postings as p on p.tenant_id = s.tenant_id and p.scope_id = s.id
     where s.tenant_id = $1 group by 1, 2, 3, 4 order by 1, 4`,
    [tenant.id],
  );
}

const texts = Array.from(
  { length: 20 },
  (_, n) => `# Part ${n}\n\nThe engines of getUserById were ${n} times tested.\n\n東京都の鉄道 ${n}\n`,
);

async function fill(tenant: TestTenant): Promise<void> {
  const long = texts.map((text) => text.repeat(140)).join('\n');
  await memory.put(tenant, 'long', long);
  for (const [n, text] of texts.entries()) await memory.put(tenant, `short/${n}`, text);
  await memory.put(tenant, 'hers', 'Ann tests 東京.', tenant.acting('ann'));
}

it('a changed analyser rebuilds the index in the background, as if all had been put anew', async () => {
  const tenant = memory.makeTenant({ analyser: 'english' });
  await fill(tenant);
  const before = await index(tenant);
  const { chunks } = await memory.stats(tenant, tenant.acting('ann'));
  expect(chunks).toBeGreaterThan(250);
  expect(await memory.pathsFor(tenant, 'getUser')).toEqual([]);

  await changeAnalyser(tenant, 'simple', chunks);
  expect((await memory.pathsFor(tenant, 'getUser')).length).toBeGreaterThan(0);
  expect(await memory.pathsFor(tenant, 'testing')).not.toContain('hers');
  const fresh = memory.makeTenant({ analyser: 'simple' });
  await fill(fresh);
  expect(await index(tenant)).toEqual(await index(fresh));

  await changeAnalyser(tenant, 'english', chunks);
  expect(await index(tenant)).toEqual(before);
});

it('while it is rebuilt, everything is found that either analyser finds', async () => {
  const tenant = memory.makeTenant({ analyser: 'simple' });
  await memory.put(tenant, 'simple', 'getUserById');
  const setAnalyser = (analyser: string) =>
    memory.rows('update memory.agents set analyser = $2, mixed = true where tenant_id = $1', [
      tenant.id,
      analyser,
    ]);
  await setAnalyser('english');
  await memory.put(tenant, 'english', 'The engines were tested.');
  await setAnalyser('simple');
  expect(await analysed(tenant)).toEqual({ 'english/2': 1, 'simple/2': 1 });
  expect(await memory.pathsFor(tenant, 'engine testing')).toEqual(['english']);
  expect(await memory.pathsFor(tenant, 'user')).toEqual(['simple']);
});

it('an index from before the service found words is rebuilt once a search sees it, and serves until then', async () => {
  const tenant = memory.makeTenant();
  const texts = {
    quoted: 'She said “hello” and left.',
    plain: 'Engines were tested at Café.',
    coded: 'v1.2/setup.sh',
  };
  for (const [path, text] of Object.entries(texts)) await memory.put(tenant, path, text);
  const current = await index(tenant);
  await storeAsBefore(tenant);
  expect(await analysed(tenant)).toEqual({ english: 3 });
  expect(await memory.rows('select tokeniser from memory.agents where tenant_id = $1', [tenant.id])).toEqual([
    { tokeniser: 1 },
  ]);
  expect(await memory.pathsFor(tenant, 'engine testing')).toEqual(['plain']);
  for (
    let found = false;
    !found;
    found = (await index(tenant)).length === current.length && (await isCurrent(tenant))
  )
    expect(await memory.pathsFor(tenant, 'v1.2/setup.sh')).toEqual(['coded']);
  expect(await index(tenant)).toEqual(current);
  expect(await memory.pathsFor(tenant, 'hello')).toEqual(['quoted']);
  expect(await memory.pathsFor(tenant, 'cafe')).toEqual(['plain']);
});

it('what a replica of an earlier release stores is noted for its agent alone', async () => {
  const stored = await StoredVectors.prepare();
  const agents = [stored.makeAgent(), stored.makeAgent()] as const;
  const source = { kind: 'api', run_id: null, session_id: null } as const;
  const passages = [{ startLine: 1, endLine: 1, context: '', text: 'duck' }];
  const duck = {
    path: 'duck',
    userId: '',
    title: null,
    metadata: {},
    source,
    text: 'duck',
    passages,
    at: new Date(),
  };
  for (const key of agents) await withTenant(stored.pool, key.tenantId, (db) => putDocument(db, key, duck));
  const [{ tenantId }] = agents;
  await withTenant(stored.pool, tenantId, (db) =>
    db.query(`update memory.chunks set analyser = 'english' where tenant_id = $1`, [tenantId]),
  );
  const noted = await Promise.all(agents.map((key) => stored.search.state(key)));
  expect(noted.map((state) => state?.hasFormerWords)).toEqual([true, false]);
  await stored.stop();
});

async function isCurrent(tenant: TestTenant): Promise<boolean> {
  const rows = await memory.rows(
    'select from memory.agents where tenant_id = $1 and tokeniser = 2 and not mixed',
    [tenant.id],
  );
  return rows.length === 1;
}

/** Stores the passages of a tenant again in the way of a release whose words were found by PostgreSQL. */
async function storeAsBefore(tenant: TestTenant): Promise<void> {
  await memory.rows('delete from memory.postings where tenant_id = $1', [tenant.id]);
  await memory.rows(
    `update memory.chunks set analyser = 'english', length = terms.length, terms = terms.terms, counts = terms.counts
     from memory.chunks as c, lateral (
       select array_agg(hashtextextended(lexeme, 0)) as terms, array_agg(cardinality(positions)::smallint) as counts,
              sum(cardinality(positions)) as length
       from unnest(to_tsvector('english', c.context || E'\n' || c.text))
     ) as terms
     where c.tenant_id = $1 and (c.tenant_id, c.scope_id, c.number) = (chunks.tenant_id, chunks.scope_id, chunks.number)`,
    [tenant.id],
  );
  await memory.rows(
    `insert into memory.postings (tenant_id, scope_id, term, block, entries)
     select c.tenant_id, c.scope_id, term, 0,
            string_agg(int4send(((c.number::bigint << 22) | (count::bigint << 16) | c.length)::bit(32)::integer), '' order by c.number)
     from memory.chunks as c, unnest(c.terms, c.counts) as entry (term, count)
     where c.tenant_id = $1 group by 1, 2, 3`,
    [tenant.id],
  );
  await memory.rows(
    `update memory.scopes set tokens = (select sum(length) from memory.chunks where scope_id = scopes.id) where tenant_id = $1`,
    [tenant.id],
  );
}
