import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
});
afterAll(() => memory.stop());

describe('lexical search', () => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = memory.makeTenant();
    await memory.put(
      tenant,
      'returns.md',
      '# Returns\n\nCustomers may return an item within 30 days of delivery.',
    );
    await memory.put(tenant, 'shipping.md', '# Shipping\n\nWe ship items to customers on Mondays.');
    await memory.put(
      tenant,
      'walrus.md',
      `# Animals\n\nWalruses sing.\n\n${'Customers ship items. '.repeat(100)}`,
    );
  });

  it('finds words by their stem, best first, with the lines and the score of each passage', async () => {
    const { status, body } = await memory.search(tenant, { query: 'How can customers return items?' });
    expect([status, body.mode]).toEqual([200, 'lexical']);
    expect(body.results[0]).toMatchObject({
      path: 'returns.md',
      start_line: 1,
      end_line: 3,
      scope: 'agent',
      title: null,
      metadata: {},
      scores: { semantic: null },
    });
    const scores = body.results.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    for (const { score, scores: of } of body.results) expect(of.lexical).toBe(score);
    expect(body.took_ms).toBeGreaterThan(0);
  });

  it('finds a passage by the headings above it', async () => {
    const results = (await memory.search(tenant, { query: 'animals', limit: 50 })).body.results;
    expect(results.length).toBeGreaterThan(1);
    expect(new Set(results.map(({ path }) => path))).toEqual(new Set(['walrus.md']));
  });

  it('gives a row of a long table its header and the heading above, with the lines of the row', async () => {
    const own = memory.makeTenant();
    const rows = Array.from(
      { length: 120 },
      (_, n) => `| knob${n} | ${n * 7} | how long part ${n} may wait |`,
    );
    await memory.put(
      own,
      'settings.md',
      `# Settings\n\n| name | default | use |\n|---|---|---|\n${rows.join('\n')}\n`,
    );
    for (const n of [5, 77, 119]) {
      const [found] = (await memory.search(own, { query: `knob${n}` })).body.results;
      expect(found?.text).toMatch(/^# Settings\n\n\| name \| default \| use \|\n\|---\|---\|---\|\n\| knob/);
      expect(found?.text).toContain(`\n| knob${n} | ${n * 7} |`);
      // The first row is in line 5.
      expect(found?.start_line).toBeLessThanOrEqual(n + 5);
      expect(found?.end_line).toBeGreaterThanOrEqual(n + 5);
      expect(found?.text.endsWith(rows[found.end_line - 5] ?? 'no row')).toBe(true);
    }
  });

  it('finds nothing for words that no passage has, and for words that say nothing', async () => {
    for (const query of ['zeppelin', 'to be or not to be', '?!'])
      expect(await memory.pathsFor(tenant, query)).toEqual([]);
  });

  it('returns at most as many as wanted, and none below a score', async () => {
    const search = async (body: object) =>
      (await memory.search(tenant, { query: 'customers ship items', ...body })).body.results;
    expect(await search({ limit: 2 })).toHaveLength(2);
    const [first, second] = await search({});
    expect(await search({ min_score: first?.score })).toHaveLength(1);
    expect(second?.score).toBeLessThan(first?.score ?? 0);
  });

  it('finds a document from the answer to its put on, and its old text no more', async () => {
    for (let round = 0; round < 20; round += 1) {
      await memory.put(tenant, 'fresh.md', `The number is zq${round}x.`);
      expect(await memory.pathsFor(tenant, `zq${round}x`)).toEqual(['fresh.md']);
      if (round > 0) expect(await memory.pathsFor(tenant, `zq${round - 1}x`)).toEqual([]);
    }
  });

  it('answers hybrid lexically and refuses semantic, without an embedding model', async () => {
    expect((await memory.search(tenant, { query: 'x', mode: 'hybrid' })).body.mode).toBe('lexical');
    const { status, body } = await memory.search(tenant, { query: 'x', mode: 'semantic' });
    expect([status, body.error.code]).toEqual([400, 'embeddings_not_configured']);
  });
});

describe('the filters of a search', () => {
  let tenant: TestTenant;
  const put = (path: string, metadata: object) =>
    memory.call('PUT', `${tenant.base}/memory/documents/${path}`, {
      as: tenant.admin,
      body: { text: 'One duck swims.', metadata },
    });
  beforeAll(async () => {
    tenant = memory.makeTenant();
    await put('a/1', { kind: 'pond', tags: ['x', 'y'] });
    await put('a/2', { kind: 'lake' });
    await put('b/1', { kind: 'pond' });
  });
  const paths = async (filter: object) =>
    (await memory.search(tenant, { query: 'duck', filter })).body.results.map(({ path }) => path).sort();

  it.each([
    ['the beginning of the path', { path_prefix: 'a/' }, ['a/1', 'a/2']],
    ['metadata', { metadata: { kind: 'pond' } }, ['a/1', 'b/1']],
    ['nested metadata', { metadata: { tags: ['y'] } }, ['a/1']],
    ['all of them', { path_prefix: 'b', metadata: { kind: 'pond' } }, ['b/1']],
    ['a time ahead', { since: '2999-01-01T00:00:00+07:00' }, []],
    ['a time ago', { since: '2001-01-01T00:00:00Z', until: '2999-01-01T00:00:00Z' }, ['a/1', 'a/2', 'b/1']],
    ['nothing that matches', { path_prefix: '%' }, []],
  ])('select by %s', async (_what, filter, expected) => expect(await paths(filter)).toEqual(expected));

  it('find a passage behind thousands of better ones', async () => {
    const own = memory.makeTenant();
    await memory.put(own, 'haystack', `${'duck '.repeat(300)}\n`.repeat(300));
    await memory.put(own, 'needle', `A duck and ${'other words '.repeat(100)}`);
    const { body } = await memory.search(own, { query: 'duck', filter: { path_prefix: 'needle' } });
    expect(body.results.map(({ path }) => path)).toEqual(['needle']);
  });
});

describe('bad input of a search', () => {
  it.each([
    ['an empty query', { query: '' }, 'query'],
    ['a blank query', { query: ' \n' }, 'query'],
    ['a long query', { query: 'x'.repeat(2_001) }, 'query'],
    ['100 kB', { query: 'x'.repeat(100_000) }, 'query'],
    ['no results', { query: 'x', limit: 0 }, 'limit'],
    ['too many results', { query: 'x', limit: 51 }, 'limit'],
    ['an unknown mode', { query: 'x', mode: 'magic' }, 'mode'],
    ['an unknown filter', { query: 'x', filter: { colour: 'red' } }, 'filter.colour'],
    ['a time that is none', { query: 'x', filter: { since: 'yesterday' } }, 'filter.since'],
  ])('%s is refused by name', async (_what, body, param) => {
    const tenant = memory.makeTenant();
    const answer = await memory.search(tenant, body);
    expect([answer.status, answer.body.error.param]).toEqual([400, param]);
  });
});

describe('the simple analyser', () => {
  it.each([
    ['Vietnamese without its marks', 'Quy định đổi trả hàng trong vòng 30 ngày', 'doi tra hang'],
    ['Japanese', '返品は配達から30日以内に可能です。', '返品'],
    ['a name in code by a word of it', 'function getUserById(id) {}', 'user'],
    ['a word by its beginning', 'Donaudampfschifffahrt', 'donaudampf'],
  ])('finds %s', async (_what, text, query) => {
    const tenant = memory.makeTenant({ analyser: 'simple' });
    await memory.put(tenant, 'wanted', text);
    await memory.put(tenant, 'other', 'Nothing of the kind. 別のこと。');
    expect((await memory.pathsFor(tenant, query))[0]).toBe('wanted');
  });
});
