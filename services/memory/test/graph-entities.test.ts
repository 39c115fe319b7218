import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { GraphClient, type Fields } from './graph-client.ts';
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

const stored = () =>
  memory.rows<{ count: number }>('select count(*)::int as count from memory.entities where tenant_id = $1', [
    graph.tenant.id,
  ]);

describe('an upsert of entities', () => {
  it('creates them in the order of the request, and updates them by their external id', async () => {
    const created = await graph.entities(
      { external_id: 'b', name: ' Béa ', type: 'person', properties: { z: 1, a: [null, '\u0000'] } },
      { external_id: 'a', name: 'Al', type: 'person', description: 'A man' },
    );
    expect(created.status).toBe(200);
    expect(created.body).toMatchObject({ created: 2, updated: 0 });
    const [bea, al] = created.body.data;
    expect(bea).toEqual({
      id: bea?.id,
      external_id: 'b',
      name: 'Béa',
      type: 'person',
      description: null,
      properties: { z: 1, a: [null, '\u0000'] },
      scope: 'agent',
    });
    const again = await graph.entities(
      { external_id: 'a', name: 'Alan', type: 'human' },
      { external_id: 'b', name: 'Béa', type: 'person', description: 'New', properties: {} },
      { external_id: 'c', name: 'Cy', type: 'person' },
    );
    expect(again.body).toMatchObject({ created: 1, updated: 2 });
    expect(again.body.data.slice(0, 2)).toEqual([
      { ...al, name: 'Alan', type: 'human' },
      { ...bea, description: 'New', properties: {} },
    ]);
    expect((await graph.call('GET', `entities/${al?.id ?? ''}`)).body).toEqual(again.body.data[0]);
  });

  it('takes the same name and type for the same entity, whatever their case and spelling', async () => {
    const [first] = (await graph.entities({ name: 'Caf\u00e9 Z\u00fcrich', type: 'Place' })).body.data;
    const again = await graph.entities({
      name: ' cafe\u0301 ZU\u0308RICH ',
      type: 'PLACE',
      description: 'x',
    });
    expect(again.body).toMatchObject({ created: 0, updated: 1, data: [{ id: first?.id, description: 'x' }] });
    const other = await graph.entities({ name: 'Caf\u00e9 Z\u00fcrich', type: 'company' });
    expect(other.body).toMatchObject({ created: 1, updated: 0 });
    expect(await stored()).toEqual([{ count: 2 }]);
  });

  it('gives an entity that was known by its name the external id, and finds it by both', async () => {
    const [first] = (await graph.entities({ name: 'Acme', type: 'company', description: 'Sells' })).body.data;
    const named = await graph.entities({ external_id: 'crm-1', name: 'ACME', type: 'company' });
    expect(named.body.data).toEqual([{ ...first, external_id: 'crm-1', name: 'ACME' }]);
    const byName = await graph.entities({ name: 'acme', type: 'company', description: null });
    expect(byName.body.data).toEqual([{ ...first, external_id: 'crm-1', name: 'acme', description: null }]);
    expect(await stored()).toEqual([{ count: 1 }]);
  });

  it('keeps two of one name apart by their external ids, and a third without one from both', async () => {
    const john = { name: 'John', type: 'person' };
    const first = await graph.entities({ ...john, external_id: '1' }, { ...john, external_id: '2' });
    expect(first.body.created).toBe(2);
    expect((await graph.entities(john)).body).toMatchObject({ created: 1, updated: 0 });
    expect((await graph.entities(john)).body).toMatchObject({ created: 0, updated: 1 });
    expect(await stored()).toEqual([{ count: 3 }]);
  });

  it.each([
    ['external ids', 'external_id', { external_id: 'x', name: 'b', type: 't' }],
    ['names', 'name', { name: 'A', type: 'T' }],
    ['names, one with an external id', 'name', { external_id: 'y', name: 'a', type: 't' }],
  ])('with two equal %s names the second and stores nothing', async (_what, field, second) => {
    const first =
      field === 'external_id' ? { external_id: 'x', name: 'a', type: 't' } : { name: 'a', type: 't' };
    const answer = await graph.entities({ name: 'other', type: 't' }, first, second);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: 'invalid_value', param: `entities[2].${field}` });
    expect(await stored()).toEqual([{ count: 0 }]);
  });

  it('names the second of two that are one stored entity', async () => {
    await graph.entities({ external_id: '1', name: 'Old', type: 't' });
    const answer = await graph.entities(
      { name: 'old', type: 't' },
      { external_id: '1', name: 'New', type: 't' },
    );
    expect(answer.body.error.param).toBe('entities[1]');
    expect((await graph.names()).join()).toBe('Old');
  });

  it('leaves entities alone that do not change', async () => {
    const entity = { external_id: '1', name: 'Same', type: 't', properties: { a: 1 } };
    await graph.entities(entity);
    const version = () =>
      memory.rows('select xmin from memory.entities where tenant_id = $1', [graph.tenant.id]);
    const before = await version();
    expect((await graph.entities(entity)).body).toMatchObject({ created: 0, updated: 1 });
    expect(await version()).toEqual(before);
  });

  it.each<[string, Fields, string]>([
    ['no type', { name: 'a' }, 'entities[0].type'],
    ['a blank name', { name: '  ', type: 't' }, 'entities[0].name'],
    ['a long name', { name: 'a'.repeat(256), type: 't' }, 'entities[0].name'],
    ['an id', { name: 'a', type: 't', id: newId() }, 'entities[0].id'],
    ['NUL', { name: 'a\u0000', type: 't' }, 'entities[0].name'],
    ['a lone surrogate', { name: 'a\ud800', type: 't' }, 'entities[0].name'],
    ['an empty external id', { name: 'a', type: 't', external_id: '' }, 'entities[0].external_id'],
    ['a list of properties', { name: 'a', type: 't', properties: [] }, 'entities[0].properties'],
    [
      'large properties',
      { name: 'a', type: 't', properties: { a: 'x'.repeat(65_536) } },
      'entities[0].properties',
    ],
    [
      'a long description',
      { name: 'a', type: 't', description: 'x'.repeat(5_001) },
      'entities[0].description',
    ],
  ])('rejects %s', async (_what, entity, param) => {
    const answer = await graph.entities(entity);
    expect(answer.status).toBe(400);
    expect(answer.body.error.param).toBe(param);
  });

  it('takes 1,000 and rejects none, 1,001, and bytes that are not UTF-8', async () => {
    const many = Array.from({ length: 1_001 }, (_, index) => ({ name: `e${index}`, type: 't' }));
    expect((await graph.entities(...many)).body.error.param).toBe('entities');
    expect((await graph.entities()).body.error.param).toBe('entities');
    expect((await graph.entities(...many.slice(1))).body).toMatchObject({ created: 1_000, updated: 0 });
    const text = Buffer.from('{"entities":[{"name":"\xff","type":"t"}]}', 'latin1') as unknown as string;
    expect((await graph.call('POST', 'entities', undefined, { text })).status).toBe(400);
  });

  it('rejects a batch whose stored properties do not fit into a response', async () => {
    const names = Array.from({ length: 80 }, (_, index) => `e${index}`);
    const large = { text: 'x'.repeat(60_000) };
    for (let from = 0; from < 80; from += 16)
      expect(
        (
          await graph.entities(
            ...names.slice(from, from + 16).map((name) => ({ name, type: 't', properties: large })),
          )
        ).status,
      ).toBe(200);
    const answer = await graph.entities(...names.map((name) => ({ name, type: 't', description: 'x' })));
    expect(answer.status).toBe(413);
    const rows = await memory.rows(
      'select id from memory.entities where tenant_id = $1 and description is not null',
      [graph.tenant.id],
    );
    expect(rows).toEqual([]);
  });

  it('is done once for an Idempotency-Key', async () => {
    const body = { entities: [{ name: 'once', type: 't' }] };
    const headers = { 'idempotency-key': newId() };
    const keyed = graph.by({ ...graph.as, keyId: newId() });
    const first = await keyed.call('POST', 'entities', body, { headers });
    const second = await keyed.call('POST', 'entities', body, { headers });
    expect(second.body).toMatchObject({ created: 1 });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.body).toEqual(first.body);
  });
});

describe('the list of entities', () => {
  it('has pages, the newest first, over the entities of the agent and the acting user', async () => {
    const ann = graph.by(graph.tenant.acting('ann'));
    for (const index of [0, 1, 2]) {
      await graph.entities({ name: `agent ${index}`, type: 't' });
      await ann.entities({ name: `ann ${index}`, type: 't' });
    }
    const all = ['ann 2', 'agent 2', 'ann 1', 'agent 1', 'ann 0', 'agent 0'];
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const { body } = await ann.call('GET', `entities?limit=4${cursor}`);
      seen.push(...body.data.map(({ name }) => name));
      if (!body.has_more) break;
      cursor = `&cursor=${String(body.next_cursor)}`;
    }
    expect(seen).toEqual(all);
    expect(await graph.names()).toEqual(all.filter((name) => name.startsWith('agent')));
  });

  it('filters by part of the name, external id and type', async () => {
    await graph.entities(
      { name: 'Blue Whale', type: 'Animal', external_id: 'w' },
      { name: 'Whale Watch', type: 'company' },
    );
    expect((await graph.names('q=wHALE')).toSorted()).toEqual(['Blue Whale', 'Whale Watch']);
    expect(await graph.names('q=w&type=animal')).toEqual(['Blue Whale']);
    expect(await graph.names('q=%25')).toEqual([]);
    expect((await graph.call('GET', 'entities?kind=x')).body.error.param).toBe('kind');
    expect((await graph.call('GET', 'entities?limit=201')).status).toBe(400);
  });
});

describe('the deletion of an entity', () => {
  it('takes its relations, also those of users, and counts them', async () => {
    const ann = graph.by(graph.tenant.acting('ann'));
    const [a] = await graph.things('a', 'b', 'c');
    await ann.things('mine');
    await graph.link('a>b', 'b>a', 'a>a', 'b>c');
    await ann.link('mine>a', 'a>mine', 'mine>b');
    expect((await graph.call('DELETE', `entities/${a ?? ''}`)).status).toBe(204);
    expect((await graph.call('DELETE', `entities/${a ?? ''}`)).status).toBe(404);
    expect((await graph.call('GET', `entities/${a ?? ''}`)).status).toBe(404);
    const relations = await memory.rows('select id from memory.relations where tenant_id = $1', [
      graph.tenant.id,
    ]);
    expect(relations).toHaveLength(2);
    const counts = await memory.rows(
      'select user_id, entities::int, relations::int from memory.graphs where tenant_id = $1 order by user_id',
      [graph.tenant.id],
    );
    expect(counts).toEqual([
      { user_id: '', entities: 2, relations: 1 },
      { user_id: 'ann', entities: 1, relations: 1 },
    ]);
    const used = await memory.rows(
      'select entities::int, relations::int from memory.tenants where tenant_id = $1',
      [graph.tenant.id],
    );
    expect(used).toEqual([{ entities: 3, relations: 2 }]);
  });

  it('of a hub removes all of its relations', async () => {
    await graph.things('hub');
    const names = Array.from({ length: 1_000 }, (_, index) => `e${index}`);
    await graph.things(...names);
    for (const type of ['a', 'b', 'c', 'd', 'e', 'f'])
      await graph.relations(...names.map((name) => ({ source: 'hub', target: name, type })));
    const [hub] = (await graph.call('GET', 'entities?q=hub')).body.data;
    expect((await graph.call('DELETE', `entities/${hub?.id ?? ''}`)).status).toBe(204);
    expect(
      await memory.rows('select id from memory.relations where tenant_id = $1', [graph.tenant.id]),
    ).toEqual([]);
  });

  it('needs an id of an entity', async () => {
    for (const id of ['x', newId(), '%00'])
      expect((await graph.call('DELETE', `entities/${id}`)).body.error.code).toBe('not_found');
  });
});
