import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { listOf } from './fields.ts';
import { ok } from './route.ts';
import { routes } from './routes.ts';
import { cellsOf, tableOf, type Table } from './table.ts';

function tableOfItems(item: z.ZodType): Table {
  const table = tableOf({ method: 'GET', response: ok(listOf(item)) });
  if (table === null) throw new Error('it is no list');
  return table;
}

/** The cells of an item by the names of their columns. */
function shown(shape: z.ZodType, item: unknown): [name: string, cell: string | number | null][] {
  const table = tableOfItems(shape);
  const cells = cellsOf(table, item);
  return table.columns.map(({ name }, index) => [name, cells[index] ?? null]);
}

describe('the columns of a list', () => {
  const nested = z.strictObject({
    id: z.string(),
    on: z.boolean(),
    size: z.number().nullable(),
    inner: z.strictObject({ text: z.string(), deep: z.strictObject({ n: z.int() }).nullable() }).nullable(),
    last: z.string().optional(),
  });

  it('are the members of its items, nested ones with the names of both', () => {
    const item = { id: 'a', on: false, size: -1.5, inner: { text: '', deep: { n: 2 } }, last: 'z' };
    expect(shown(nested, item)).toEqual([
      ['id', 'a'],
      ['on', 'false'],
      ['size', -1.5],
      ['inner.text', ''],
      ['inner.deep.n', 2],
      ['last', 'z'],
    ]);
  });

  it('are empty for what is null or missing, at any level', () => {
    const cells = [null, { text: 'x', deep: null }].map((inner) =>
      cellsOf(tableOfItems(nested), { id: 'a', on: true, size: null, inner }),
    );
    expect(cells).toEqual([
      ['a', 'true', null, null, null, null],
      ['a', 'true', null, 'x', null, null],
    ]);
  });

  it('hold lists of plain values, and JSON for all that has no fixed form', () => {
    const shape = z.strictObject({
      tags: z.array(z.string()).nullable(),
      figures: z.array(z.int()),
      items: z.array(z.strictObject({ a: z.int() })),
      lists: z.array(z.array(z.int())),
      metadata: z.record(z.string(), z.unknown()),
      open: z.looseObject({ a: z.int() }),
      any: z.unknown(),
    });
    const item = {
      ...{ tags: ['x', 'y'], figures: [1, 2], items: [{ a: 1 }], lists: [[1], []] },
      ...{ metadata: { 'a.b': [null] }, open: { a: 1, b: '=2' }, any: '1' },
    };
    expect(shown(shape, item)).toEqual([
      ['tags', 'x; y'],
      ['figures', '1; 2'],
      ['items', '[{"a":1}]'],
      ['lists', '[[1],[]]'],
      ['metadata', '{"a.b":[null]}'],
      ['open', '{"a":1,"b":"=2"}'],
      ['any', '"1"'],
    ]);
    expect(cellsOf(tableOfItems(shape), { tags: [], any: null }).slice(0, 2)).toEqual(['', null]);
    expect(cellsOf(tableOfItems(shape), { tags: null, any: 2 }).slice(-1)).toEqual([2]);
  });

  it('of several forms are those of each form', () => {
    const form = z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('none') }),
      z.strictObject({ type: z.literal('a'), value: z.string() }),
      z.strictObject({ type: z.literal('b'), value: z.int(), more: z.union([z.int(), z.string()]) }),
    ]);
    const shape = z.strictObject({ form, odd: z.union([z.string(), z.strictObject({ a: z.int() })]) });
    expect(shown(shape, { form: { type: 'none' }, odd: 'text' })).toEqual([
      ['form.type', 'none'],
      ['form.value', null],
      ['form.more', null],
      ['odd', '"text"'],
    ]);
    expect(cellsOf(tableOfItems(shape), { form: { type: 'b', value: 1, more: 'm' }, odd: { a: 1 } })).toEqual(
      ['b', 1, 'm', '{"a":1}'],
    );
  });

  it('are those of all parts of an intersection, of what comes out of a pipe, and of a default', () => {
    const shape = z.intersection(
      z.strictObject({ a: z.string() }),
      z.object({ b: z.preprocess((value) => value, z.int()), c: z.string().default('x') }),
    );
    expect(tableOfItems(shape).columns.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });
});

describe('a table', () => {
  const tables = routes.flatMap((route) => {
    const table = tableOf(route);
    return table === null ? [] : [{ ...route, table }];
  });

  it('is there for every list with a cursor, and for no list of another API', () => {
    const paged = routes.filter(({ query }) => Object.hasOwn(query?.shape ?? {}, 'cursor'));
    expect(tables.map(({ id }) => id)).toEqual(paged.map(({ id }) => id));
    expect(tables.length).toBeGreaterThan(20);
  });

  it.each(tables)('of $id names each column once', ({ table }) => {
    const names = table.columns.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(2);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z_0-9]+(\.[a-z_0-9]+)*$/.test(name))).toEqual([]);
  });

  it.each(tables)('of $id is served without an ETag, which would be the same as that of JSON', (route) => {
    expect([route.response.revalidated, route.response.status, route.passThrough]).toEqual([
      undefined,
      200,
      false,
    ]);
  });

  it('is none of a change, or of another answer', () => {
    const shape = listOf(z.strictObject({ id: z.string() }));
    expect(tableOf({ method: 'POST', response: ok(shape) })).toBeNull();
    expect(tableOf({ method: 'GET', response: ok(shape.omit({ next_cursor: true })) })).toBeNull();
    expect(tableOf({ method: 'GET', response: { status: 204, shape: null } })).toBeNull();
  });
});
