import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, withTenant } from '@gatehouse/pg/pool';
import { eventually } from '@gatehouse/test/eventually';
import { entryBytes } from '../src/search/postings.ts';
import { EmbeddingStore } from '../src/store/search/embedding-store.ts';
import { holdMemory, markAgentDeleted } from '../src/store/scopes/scope-store.ts';
import { MemoryServiceUnderTest } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
});
afterAll(() => memory.stop());

const clients = 16;
/** CONCURRENCY_SECONDS: longer than CI has time for. */
const runMs = 1_000 * Number(process.env['CONCURRENCY_SECONDS'] ?? 8);
const words = ['alpha', 'beta', 'gamma', 'delta', 'river', 'stone', 'cloud', 'bread'];

/** Numbers below a limit, from a seed, so that a failure can be repeated. */
function random(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * limit);
  };
}

it(
  'puts, deletions, forgetting and searches at once leave an index and counts as if made anew',
  async () => {
    memory.chat.model = 'embed-small';
    const tenant = memory.makeTenant();
    const statuses = new Map<string, number>();
    const until = Date.now() + runMs;
    const expected = ['delete 204', 'delete 404', 'forget 200', 'put 200', 'put 201', 'search 200'];
    const goesOn = () => Date.now() < until || expected.some((name) => !statuses.has(name));
    const client = async (seed: number): Promise<void> => {
      const below = random(seed);
      while (goesOn()) {
        const as = below(2) === 0 ? tenant.admin : tenant.acting(`user-${below(3)}`);
        const path = `p/${below(12)}`;
        const text = Array.from({ length: 1 + below(600) }, () => words[below(words.length)]).join(' ');
        const action = below(10);
        const call = (method: string, route: string, body?: object) =>
          memory.call(method, `${tenant.base}/memory${route}`, { as, ...(body && { body }) });
        const answer =
          action < 5
            ? await call('PUT', `/documents/${path}`, { text })
            : action < 7
              ? await call('POST', '/search', { query: `${words[below(words.length)] ?? ''} stone` })
              : action < 9
                ? await call('DELETE', `/documents/${path}`)
                : await call('POST', '/forget', { path_prefix: `p/1${below(2)}` });
        const name = `${action < 5 ? 'put' : action < 7 ? 'search' : action < 9 ? 'delete' : 'forget'} ${answer.status}`;
        statuses.set(name, (statuses.get(name) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, index) => client(index + 1)));
    expect([...statuses.keys()].toSorted()).toEqual(expected);

    const values = [tenant.id];
    const indexed = await memory.rows(
      `select term, sum(octet_length(entries)) / ${entryBytes} as passages from memory.postings where tenant_id = $1
     group by 1 order by 1`,
      values,
    );
    const rebuilt = await memory.rows(
      `select hashtextextended(lexeme, 0) as term, count(*)::numeric as passages
     from memory.chunks cross join lateral unnest(to_tsvector('english', context || E'\\n' || text))
     where tenant_id = $1 group by 1 order by 1`,
      values,
    );
    const plain = (rows: Record<string, unknown>[]) =>
      rows.map(({ term, passages }) => [term, Number(passages)]);
    expect(plain(indexed)).toEqual(plain(rebuilt));
    const counted = await memory.rows(
      `select sum(documents)::int as documents, sum(chunks)::int as chunks, sum(bytes)::int as bytes,
            sum(tokens)::int as tokens
     from memory.scopes where tenant_id = $1`,
      values,
    );
    const stored = await memory.rows(
      `select (select count(*) from memory.documents where tenant_id = $1)::int as documents,
            (select count(*) from memory.chunks where tenant_id = $1)::int as chunks,
            (select coalesce(sum(octet_length(d.text) + octet_length(d.path) + octet_length(s.user_id)), 0)
             from memory.documents as d join memory.scopes as s on s.id = d.scope_id
             where d.tenant_id = $1)::int as bytes,
            (select coalesce(sum(length), 0) from memory.chunks where tenant_id = $1)::int as tokens`,
      values,
    );
    expect(counted).toEqual(stored);
    const [usage] = await memory.rows(
      'select documents::int, bytes::int from memory.tenants where tenant_id = $1',
      values,
    );
    expect(usage).toEqual({ documents: stored[0]?.['documents'], bytes: stored[0]?.['bytes'] });
    await eventually(async () => {
      const embedded = await memory.rows(
        'select scope_id, number from memory.embeddings where tenant_id = $1 order by 1, 2',
        values,
      );
      const passages = await memory.rows(
        'select scope_id, number from memory.chunks where tenant_id = $1 order by 1, 2',
        values,
      );
      expect(embedded).toEqual(passages);
    });
  },
  runMs + 200_000,
);

it('many writers of one new agent make one memory', async () => {
  const tenant = memory.makeTenant();
  const puts = Array.from({ length: clients }, () => memory.put(tenant, newId(), 'text'));
  for (const { status } of await Promise.all(puts)) expect(status).toBe(201);
  expect(await memory.stats(tenant)).toMatchObject({ documents: clients });
});

it('writers under way hold up no embedding of their agent, but its deletion', async () => {
  const tenant = memory.makeTenant();
  const key = { tenantId: tenant.id, agentId: tenant.agentId, analyser: 'english' } as const;
  const log = createLogger('test', 'silent');
  const pool = createPool({ url: memory.database.url, role: 'memory_app', max: 3, log });
  let deleted = false;
  try {
    // A memory without documents, so that no job of the service embeds for it.
    await withTenant(pool, tenant.id, (db) => holdMemory(db, key));
    const deletion = await withTenant(pool, tenant.id, async (writer) => {
      await holdMemory(writer, key);
      expect(await new EmbeddingStore(pool).claim(key, newId())).toBe('claimed');
      const deleting = withTenant(pool, tenant.id, async (db) => {
        await markAgentDeleted(db, key);
        deleted = true;
      });
      await sleep(300);
      expect(deleted).toBe(false);
      // In an object, so that the transaction doesn't wait for it.
      return { deleting };
    });
    await deletion.deleting;
    await expect(withTenant(pool, tenant.id, (db) => holdMemory(db, key))).rejects.toThrow('no such agent');
  } finally {
    await pool.end();
  }
});
