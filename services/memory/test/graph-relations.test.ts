import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { GraphClient, type Fields, type GraphAnswer } from './graph-client.ts';
import { MemoryServiceUnderTest } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
let graph: GraphClient;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
});
afterAll(() => memory.stop());
beforeEach(async () => {
  graph = new GraphClient(memory, memory.makeTenant());
});

/** Versions as stored, the oldest first: `weight from to`. */
async function versions(): Promise<string[]> {
  const rows = await memory.rows<{ weight: number; from: Date; to: Date | null }>(
    `select weight, valid_from as "from", valid_to as "to" from memory.relations where tenant_id = $1 order by valid_from`,
    [graph.tenant.id],
  );
  return rows.map(({ weight, from, to }) =>
    [weight, from.toISOString().slice(0, 10), to?.toISOString().slice(0, 10) ?? '-'].join(' '),
  );
}

const relation = { source: 'a', target: 'b', type: 'knows' };

describe('an upsert of relations', () => {
  it('creates them between ids and external ids, with a weight of 1 and valid from now', async () => {
    const [a, b] = await graph.things('a', 'b');
    const before = Date.now();
    const answer = await graph.relations(relation, {
      source: b?.toUpperCase(),
      target: a,
      type: ' knows ',
      weight: 0.25,
      properties: { since: 'school' },
      valid_to: '2999-01-01T00:00:00+02:00',
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ created: 2, updated: 0 });
    const [first, second] = answer.body.data;
    expect(first).toEqual({
      id: first?.id,
      source: a,
      target: b,
      type: 'knows',
      weight: 1,
      properties: {},
      valid_from: first?.valid_from,
      valid_to: null,
    });
    expect(Math.abs(Date.parse(first?.valid_from ?? '') - before)).toBeLessThan(5_000);
    expect(second).toMatchObject({
      source: b,
      target: a,
      type: 'knows',
      weight: 0.25,
      properties: { since: 'school' },
      valid_to: '2998-12-31T22:00:00.000Z',
    });
    // Visible to a traversal at once.
    expect((await graph.traverse({ start: ['a'] })).body.edges).toHaveLength(2);
  });

  it('replaces the one that is valid, and keeps what is omitted', async () => {
    await graph.things('a', 'b');
    const [first] = (await graph.relations({ ...relation, weight: 3, properties: { x: 1 } })).body.data;
    const again = await graph.relations({ ...relation, weight: 2 });
    expect(again.body).toMatchObject({ created: 0, updated: 1 });
    expect(again.body.data).toEqual([{ ...first, weight: 2 }]);
    expect(await versions()).toHaveLength(1);
  });

  it('with a later valid_from closes the one that is valid, and deletes nothing', async () => {
    await graph.things('a', 'b');
    await graph.relations({ ...relation, weight: 1, valid_from: '2020-01-01T00:00:00Z' });
    const answer = await graph.relations({ ...relation, weight: 2, valid_from: '2024-01-01T00:00:00Z' });
    expect(answer.body).toMatchObject({ created: 1, updated: 0 });
    expect(await versions()).toEqual(['1 2020-01-01 2024-01-01', '2 2024-01-01 -']);
    const weightAt = async (asOf: string) =>
      (await graph.traverse({ start: ['a'], as_of: asOf })).body.edges.map(({ weight }) => weight);
    expect(await weightAt('2023-12-31T23:59:59.999Z')).toEqual([1]);
    expect(await weightAt('2024-01-01T00:00:00Z')).toEqual([2]);
    expect(await weightAt('2019-01-01T00:00:00Z')).toEqual([]);
  });

  it('takes the history of a relation in one batch', async () => {
    await graph.things('a', 'b');
    const from = (year: number, weight: number) => ({
      ...relation,
      weight,
      valid_from: `${year}-01-01T00:00:00Z`,
    });
    expect((await graph.relations(from(2020, 1), from(2022, 3), from(2021, 2))).body.created).toBe(3);
    expect(await versions()).toEqual([
      '1 2020-01-01 2021-01-01',
      '2 2021-01-01 2022-01-01',
      '3 2022-01-01 -',
    ]);
  });

  it('keeps the newest 100 versions', async () => {
    await graph.things('a', 'b');
    const from = (day: number) => ({
      ...relation,
      weight: day,
      valid_from: new Date(Date.UTC(2020, 0, day)).toISOString(),
    });
    const days = Array.from({ length: 100 }, (_, index) => from(index + 1));
    expect((await graph.relations(...days)).status).toBe(200);
    expect((await graph.relations(from(101), from(102))).status).toBe(200);
    const stored = await versions();
    expect(stored).toHaveLength(100);
    expect(stored[0]).toMatch(/^3 /);
    const [used] = await memory.rows('select relations::int from memory.tenants where tenant_id = $1', [
      graph.tenant.id,
    ]);
    expect(used).toEqual({ relations: 100 });
    expect((await graph.relations(from(1))).body.error.param).toBe('relations[0]');
  });

  it('keeps self-loops, cycles and parallel relations of other types', async () => {
    await graph.things('a', 'b');
    await graph.link('a>a', 'a>b', 'b>a');
    await graph.relations({ ...relation, type: 'likes' }, { ...relation, type: 'Likes' });
    expect(await versions()).toHaveLength(5);
  });

  it.each<[string, Fields, string]>([
    ['an unknown source', { source: 'nobody' }, 'source'],
    ['an unknown target', { target: newId() }, 'target'],
    ['no type', { type: undefined }, 'type'],
    ['a weight below zero', { weight: -1 }, 'weight'],
    ['a text as weight', { weight: '1' }, 'weight'],
    ['a time that is none', { valid_from: '2024-13-01T00:00:00Z' }, 'valid_from'],
    [
      'an end that is not after its beginning',
      { valid_from: '2024-01-01T00:00:00Z', valid_to: '2024-01-01T00:00:00Z' },
      'valid_to',
    ],
    ['large properties', { properties: { a: 'x'.repeat(65_536) } }, 'properties'],
    ['an unknown field', { color: 'red' }, 'color'],
  ])('with %s names the index and stores nothing', async (_what, fields, field) => {
    await graph.things('a', 'b');
    const answer = await graph.relations({ ...relation, type: 'good' }, { ...relation, ...fields });
    expect(answer.status).toBe(400);
    expect(answer.body.error.param).toBe(`relations[1].${field}`);
    expect(await versions()).toEqual([]);
  });

  it('with the same relation twice names the second and stores nothing', async () => {
    await graph.things('a', 'b');
    const answer = await graph.relations(relation, { ...relation, weight: 4 });
    expect(answer.body.error).toMatchObject({ code: 'invalid_value', param: 'relations[1]' });
    expect(await versions()).toEqual([]);
  });

  it('takes 1,000 and rejects 1,001', async () => {
    await graph.things('a', 'b');
    const many = Array.from({ length: 1_001 }, (_, index) => ({ ...relation, type: `t${index}` }));
    expect((await graph.relations(...many)).body.error.param).toBe('relations');
    expect((await graph.relations(...many.slice(1))).body.created).toBe(1_000);
  });
});

describe('concurrent upserts from 8 clients', () => {
  it('make no duplicate, no deadlock and no wrong count', async () => {
    const { tenant } = graph;
    const ann = graph.by(tenant.acting('ann'));
    const names = Array.from({ length: 40 }, (_, index) => `e${index}`);
    await graph.things('hub');
    /** Those that waited too long on a busy machine are sent again, as clients do. */
    const answered = (ask: () => Promise<GraphAnswer>): Promise<GraphAnswer> =>
      eventually(async () => {
        const answer = await ask();
        expect(answer.status).not.toBe(503);
        return answer;
      });
    const shuffled = () => names.toSorted(() => Math.random() - 0.5);
    const clients = Array.from({ length: 8 }, async (_, index) => {
      const client = index % 2 === 0 ? graph : ann;
      for (let round = 0; round < 5; round += 1) {
        const some = shuffled().slice(0, 30);
        const made = await answered(() =>
          client.entities(...some.map((name) => ({ external_id: name, name, type: 't' }))),
        );
        expect(made.status).toBe(200);
        const links = some.map((name) => ({
          source: 'hub',
          target: made.body.data.find((each) => each.name === name)?.id,
          type: 't',
        }));
        const linked = await answered(() => client.relations(...links));
        expect([200, 400]).toContain(linked.status);
        const [victim] = made.body.data;
        const deleted = await answered(() => client.call('DELETE', `entities/${victim?.id ?? ''}`));
        expect([204, 404]).toContain(deleted.status);
      }
    });
    await Promise.all(clients);
    const duplicates = await memory.rows(
      `select external_id from memory.entities where tenant_id = $1 group by graph_id, external_id having count(*) > 1`,
      [tenant.id],
    );
    expect(duplicates).toEqual([]);
    const counts = await memory.rows(
      `select g.entities::int = (select count(*) from memory.entities as e where e.graph_id = g.id) as entities,
              g.relations::int = (select count(*) from memory.relations as r where r.graph_id = g.id) as relations
       from memory.graphs as g where tenant_id = $1`,
      [tenant.id],
    );
    expect(counts).toEqual([
      { entities: true, relations: true },
      { entities: true, relations: true },
    ]);
    const [used] = await memory.rows(
      `select t.entities = sum(g.entities) as entities, t.relations = sum(g.relations) as relations
       from memory.tenants as t join memory.graphs as g using (tenant_id) where tenant_id = $1
       group by t.entities, t.relations`,
      [tenant.id],
    );
    expect(used).toEqual({ entities: true, relations: true });
  });
});
