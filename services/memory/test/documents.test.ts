import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
let tenant: TestTenant;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
  tenant = memory.makeTenant();
});
afterAll(() => memory.stop());

const returns = '# Returns\n\nCustomers may return an item within 30 days of delivery.\n';

describe('a document', () => {
  it('is created by its first put and replaced by the next, with the same id', async () => {
    const path = 'policies/returns.md';
    const created = await memory.put(tenant, path, returns);
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      path,
      title: null,
      scope: 'agent',
      user_id: null,
      metadata: {},
      source: { kind: 'api', run_id: null, session_id: null },
      chunks: 1,
      bytes: Buffer.byteLength(returns),
      embedded: false,
    });
    const replaced = await memory.call('PUT', `${tenant.base}/memory/documents/${path}`, {
      as: tenant.admin,
      body: { text: 'Änderung', title: 'Neu', metadata: { a: [1] } },
    });
    expect(replaced.status).toBe(200);
    expect(replaced.body).toMatchObject({
      id: created.body.id,
      title: 'Neu',
      metadata: { a: [1] },
      bytes: 9,
    });
    expect(replaced.body.created_at).toBe(created.body.created_at);
    expect((await memory.get(tenant, path)).body).toEqual({ ...replaced.body, text: 'Änderung' });
    expect(await memory.pathsFor(tenant, 'delivery of customers')).toEqual([]);
  });

  it('is deleted once, and found no more', async () => {
    await memory.put(tenant, 'gone.md', 'A walrus sings.');
    expect(await memory.pathsFor(tenant, 'walrus')).toEqual(['gone.md']);
    const remove = () =>
      memory.call('DELETE', `${tenant.base}/memory/documents/gone.md`, { as: tenant.admin });
    expect((await remove()).status).toBe(204);
    expect((await remove()).status).toBe(404);
    expect((await memory.get(tenant, 'gone.md')).status).toBe(404);
    expect(await memory.pathsFor(tenant, 'walrus')).toEqual([]);
  });

  it('may have a path of many segments with any characters', async () => {
    for (const path of ['a', 'ä/ö ü/%', 'x'.repeat(512), '…/..a/b..']) {
      const encoded = path.split('/').map(encodeURIComponent).join('/');
      expect((await memory.put(tenant, encoded, 'text')).body.path).toBe(path);
      expect((await memory.get(tenant, encoded)).body.path).toBe(path);
    }
  });

  it('of an agent named by its key is that of its id', async () => {
    await memory.put(tenant, 'by-id', 'text');
    const byKey = await memory.call('GET', '/v1/agents/support/memory/documents/by-id', { as: tenant.admin });
    expect(byKey.body.text).toBe('text');
  });

  it('keeps its text as it was sent, whatever its lines and characters', async () => {
    const text = '\ufeff# T\r\n\r\n  \u2028 🦆 \ttab\n\n\n```\ncode\n```\n---\n';
    await memory.put(tenant, 'odd', text);
    expect((await memory.get(tenant, 'odd')).body.text).toBe(text);
  });
});

describe('the list of documents', () => {
  it('has pages, newest first, and those below a path', async () => {
    const own = memory.makeTenant();
    for (const path of ['b/1', 'b/2', 'c/1', 'b%_/3']) await memory.put(own, encodeURI(path), 'text');
    const list = async (query: string) =>
      (await memory.call('GET', `${own.base}/memory/documents?${query}`, { as: own.admin })).body;
    const first = await list('limit=3');
    expect(first.data.map(({ path }) => path)).toEqual(['b%_/3', 'c/1', 'b/2']);
    expect(first.data[0]).not.toHaveProperty('text');
    const second = await list(`limit=3&cursor=${String(first.next_cursor)}`);
    expect([second.data.map(({ path }) => path), second.has_more]).toEqual([['b/1'], false]);
    expect((await list('path_prefix=b/')).data.map(({ path }) => path)).toEqual(['b/2', 'b/1']);
    expect((await list('path_prefix=b%25')).data.map(({ path }) => path)).toEqual(['b%_/3']);
  });
});

describe('the counts of a memory', () => {
  it('follow every put and deletion', async () => {
    const own = memory.makeTenant();
    const nothing = { documents: 0, chunks: 0, bytes: 0, entities: 0, relations: 0, pending_embeddings: 0 };
    expect(await memory.stats(own)).toEqual(nothing);
    await memory.put(own, 'a', 'one');
    await memory.put(own, 'b', 'two '.repeat(1_000));
    expect(await memory.stats(own)).toMatchObject({ documents: 2, bytes: 4_005 });
    await memory.put(own, 'b', 'two');
    expect(await memory.stats(own)).toMatchObject({ documents: 2, chunks: 2, bytes: 8 });
    for (const path of ['a', 'b'])
      await memory.call('DELETE', `${own.base}/memory/documents/${path}`, { as: own.admin });
    expect(await memory.stats(own)).toEqual(nothing);
    expect(await memory.rows('select 1 from memory.postings where tenant_id = $1', [own.id])).toEqual([]);
  });
});

describe('bad input', () => {
  const put = async (path: string, body: unknown, as = tenant.admin) => {
    const { status, body: answer } = await memory.call('PUT', `${tenant.base}/memory/documents/${path}`, {
      as,
      body,
    });
    return [status, answer.error.code, answer.error.param];
  };

  it.each<[what: string, path: string, body: unknown, refusal: [number, string, string]]>([
    ['empty text', 'x', { text: '' }, [400, 'invalid_value', 'text']],
    ['no text', 'x', {}, [400, 'missing_required_parameter', 'text']],
    ['text over a mebibyte', 'x', { text: 'ä'.repeat(524_289) }, [413, 'payload_too_large', 'text']],
    ['NUL', 'x', { text: 'a\0b' }, [400, 'invalid_value', 'text']],
    ['an unknown field', 'x', { text: 'a', colour: 'red' }, [400, 'unknown_parameter', 'colour']],
    ['a long path', 'x'.repeat(513), { text: 'a' }, [400, 'invalid_value', 'path']],
    ['NUL in the path', 'a%00b', { text: 'a' }, [400, 'invalid_value', 'path']],
    [
      'large metadata',
      'x',
      { text: 'a', metadata: { a: 'x'.repeat(65_536) } },
      [400, 'invalid_value', 'metadata'],
    ],
    [
      'a user scope without a user',
      'x',
      { text: 'a', scope: 'user' },
      [400, 'acting_user_required', 'scope'],
    ],
  ])('%s is refused by name', async (_what, path, body, refusal) => {
    expect(await put(path, body)).toEqual(refusal);
    expect((await memory.get(tenant, 'x')).status).toBe(404);
  });

  it('an unknown agent is not found', async () => {
    const stranger = memory.makeTenant();
    for (const agent of ['none', stranger.agentId, 'x'.repeat(65)]) {
      const answer = await memory.call('GET', `/v1/agents/${agent}/memory/stats`, { as: tenant.admin });
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found']);
    }
  });
});
