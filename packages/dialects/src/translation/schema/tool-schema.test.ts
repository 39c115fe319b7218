import { expect, it } from '@jest/globals';
import { judgedSchema } from './tool-schema.ts';

type Fields = Record<string, unknown>;
const city = { city: { type: 'string' } };

it.each<Fields>([
  { type: 'object', properties: {} },
  { type: 'object', properties: city, required: ['city'], additionalProperties: false },
  { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'integer', minimum: 1 } } },
  {
    type: 'object',
    properties: { a: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } } },
  },
  {
    type: 'object',
    properties: {
      a: { type: ['string', 'null'], enum: ['x', null] },
      b: true,
      required: { type: 'boolean' },
    },
  },
  {
    type: 'object',
    properties: { a: { type: 'object', additionalProperties: { type: 'number' } } },
    $schema: 'x',
    title: 'T',
  },
  { type: 'object', properties: { self: { $ref: '#' } } },
])('leaves %j as it is', (schema) => {
  expect(judgedSchema(schema)).toEqual({ schema, reason: null });
});

const top = (properties: Fields, more: Fields = {}): Fields => ({ type: 'object', properties, ...more });

it.each<[Fields, Fields]>([
  [{}, top({})],
  [{ type: 'object' }, top({})],
  [{ properties: city }, top(city)],
  [{ type: 'OBJECT', properties: { city: { type: 'STRING' } } }, top(city)],
  [{ type: ['object', 'null'], properties: city }, top(city)],
  [{ type: 'dict', properties: [] }, top({})],
  [{ type: 'object', properties: null, required: null }, top({})],
  [{ type: 'object', properties: [{ name: 'city', type: 'str' }] }, top(city)],
  [top({ ...city, required: ['city'] }), top(city, { required: ['city'] })],
  [top({ city: { type: 'string', required: true } }), top(city, { required: ['city'] })],
  [top(city, { required: 'city' }), top(city, { required: ['city'] })],
  [top(city, { required: false, additionalProperties: 'false' }), top(city, { additionalProperties: false })],
  [top({ city: 'string' }), top(city)],
  [
    top({ a: { type: 'str' }, b: { type: 'int' }, c: { type: 'any' }, d: null }),
    top({ a: { type: 'string' }, b: { type: 'integer' }, c: {}, d: {} }),
  ],
  [top({ a: { type: 'array' } }), top({ a: { type: 'array', items: {} } })],
  [top({ a: { type: 'list', items: 'str' } }), top({ a: { type: 'array', items: { type: 'string' } } })],
  [
    top({ a: { type: 'integer[]' }, b: { type: 'string | null' } }),
    top({ a: { type: 'array', items: { type: 'integer' } }, b: { type: ['string', 'null'] } }),
  ],
  [
    top({ a: { type: ['str', 'text'] }, b: { type: 'enum', enum: ['x', 'x'] } }),
    top({ a: { type: 'string' }, b: { enum: ['x'] } }),
  ],
  // The draft 2020-12, which some providers hold schemas to, refuses these.
  [
    top({
      a: { type: 'array', items: [city.city, { type: 'int' }], additionalItems: false },
      b: { type: 'array', prefixItems: [{}] },
    }),
    top({
      a: { type: 'array', prefixItems: [city.city, { type: 'integer' }], items: false },
      b: { type: 'array', prefixItems: [{}], items: {} },
    }),
  ],
  [
    top({
      a: { minimum: 1, exclusiveMinimum: true },
      b: { maximum: 1, exclusiveMaximum: false },
      c: { exclusiveMaximum: 3 },
    }),
    top({ a: { exclusiveMinimum: 1 }, b: { maximum: 1 }, c: { exclusiveMaximum: 3 } }),
  ],
  [
    top({
      a: {
        minLength: '3',
        maximum: null,
        title: null,
        description: ['x'],
        uniqueItems: 'true',
        pattern: null,
        $ref: null,
      },
    }),
    top({ a: { minLength: 3, uniqueItems: true } }),
  ],
  [top({ a: { enum: [] }, b: { enum: 'x' }, c: { anyOf: [] } }), top({ a: {}, b: { enum: ['x'] }, c: {} })],
  [
    { anyOf: [top(city, { required: ['city'] }), top({ zip: { type: 'string' } })] },
    top({ zip: { type: 'string' }, ...city }),
  ],
  [
    { allOf: [top(city, { required: ['city'] }), top({ zip: true }, { required: ['zip'] })] },
    top({ zip: true, ...city }, { required: ['city', 'zip'] }),
  ],
  // A choice of one property is a choice for that property.
  [
    {
      oneOf: [
        top({ kind: { const: 'a' }, both: city.city }, { required: ['kind', 'both'] }),
        top({ kind: { const: 'b' }, both: city.city }, { required: ['kind'] }),
      ],
    },
    top({ kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, both: city.city }, { required: ['kind'] }),
  ],
  [
    { properties: { a: { minLength: 1 } }, allOf: [top({ a: { maxLength: 2 } }), true] },
    top({ a: { allOf: [{ minLength: 1 }, { maxLength: 2 }] } }),
  ],
  [{ anyOf: [top(city, { required: ['city'] }), { type: 'null' }] }, top(city, { required: ['city'] })],
  [
    {
      anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }],
      $defs: { a: top(city, { required: ['city'] }), b: top(city, { required: ['city'] }) },
    },
    top(city, {
      required: ['city'],
      $defs: { a: top(city, { required: ['city'] }), b: top(city, { required: ['city'] }) },
    }),
  ],
  [
    top(
      { a: { $ref: '#/components/schemas/a' }, b: { $ref: '#/$defs/a' } },
      { definitions: { a: city.city } },
    ),
    top(
      { a: { $ref: '#/definitions/a' }, b: { $ref: '#/definitions/a' } },
      { definitions: { a: city.city } },
    ),
  ],
  [
    {
      allOf: [top(city)],
      properties: { from: { $ref: '#/allOf/0/properties/city' }, to: { $ref: '#/allOf/0' } },
    },
    top(
      { ...city, from: { $ref: '#/$defs/_allOf_0_properties_city' }, to: { $ref: '#/$defs/_allOf_0' } },
      { $defs: { _allOf_0_properties_city: city.city, _allOf_0: top(city) } },
    ),
  ],
  [{ $ref: '#/$defs/a~1b', $defs: { 'a/b': top(city) } }, top(city, { $defs: { 'a/b': top(city) } })],
])('mends %j', (schema, expected) => {
  expect(judgedSchema(schema)).toEqual({ schema: expected, reason: null });
});

it.each<[Fields, string]>([
  [{ type: 'string' }, 'not that of an object'],
  [{ type: 'whatever' }, 'input_schema has an unknown type'],
  [{ not: {} }, 'must not have not'],
  [{ enum: [1] }, 'must not have'],
  [top({ a: 7 }), 'input_schema.properties.a is not a schema'],
  [top({ a: 'no type' }), 'unknown type'],
  [top({ a: { type: 'whatever' } }), 'input_schema.properties.a has an unknown type'],
  [{ type: 'object', properties: 'x' }, 'properties is not an object'],
  [{ type: 'object', properties: ['city'] }, 'properties is not an object'],
  [top({ a: { $ref: '#/$defs/none' } }), 'leads nowhere'],
  [top({ a: { $ref: 'https://example.com/schema.json' } }), 'leads nowhere'],
  [top({ a: { items: { $ref: 7 } } }), 'input_schema.properties.a.items has a reference'],
  [top({ a: { $ref: '#/title' } }, { title: 'T' }), 'leads nowhere'],
  [top({ a: { $ref: '#/$defs/0' } }, { $defs: [city.city] }), 'leads nowhere'],
  [top({ a: { maxLength: 'many' } }), 'input_schema.properties.a.maxLength has the wrong type'],
  [{ $ref: '#' }, 'too many references'],
  [{ anyOf: [top(city), { type: 'string' }] }, 'not that of an object'],
])('says why %j can’t be used', (schema, reason) => {
  expect(judgedSchema(schema)).toEqual({ schema: null, reason: expect.stringContaining(reason) });
});

it('says so where a schema is nested beyond the stack', () => {
  const deep = Array.from({ length: 50_000 }).reduce<Fields>((items) => ({ type: 'array', items }), {});
  expect(judgedSchema(top({ deep })).reason).toBe('input_schema is nested too deeply.');
});

const many = <Value>(count: number, make: (n: number) => Value): Value[] =>
  Array.from({ length: count }, (_, n) => make(n));
const layer = (next: string, references = 500): Fields => ({
  allOf: many(references, () => ({ $ref: `#/${next}` })),
});

it.each<[string, Fields]>([
  ['references that multiply', { a: layer('b'), b: layer('c'), c: layer('d'), d: top(city), $ref: '#/a' }],
  ['choices of different properties', { anyOf: many(1_500, (n) => top({ [`p${n}`]: {} })) }],
  ['choices with the same names', { anyOf: many(100, () => ({ required: many(100, (n) => `p${n}`) })) }],
  ['choices of one property', { anyOf: many(1_000, (n) => top({ p: { const: n } })) }],
  ['parts that each require another name', { allOf: many(2_500, (n) => ({ required: [`p${n}`] })) }],
  [
    'references to a large part that is lost',
    {
      allOf: [top({ p: { enum: many(2_000, (n) => n) } })],
      properties: Object.fromEntries(many(1_000, (n) => [`q${n}`, { $ref: '#/allOf/0' }])),
    },
  ],
  [
    'references whose names are one name',
    {
      allOf: [Object.fromEntries(many(1_900, (n) => [String.fromCodePoint(0x4e00 + n), true]))],
      properties: {
        p: { anyOf: many(1_900, (n) => ({ $ref: `#/allOf/0/${String.fromCodePoint(0x4e00 + n)}` })) },
      },
    },
  ],
  ['lists of lists in the name of a type', top({ p: { type: `string${'[]'.repeat(30_000)}` } })],
  [
    'references to different parts of one property',
    {
      ...{
        $ref: '#/a',
        a: layer('b', 34),
        b: layer('c', 34),
        c: { allOf: [{ $ref: '#/d' }, { $ref: '#/e' }] },
      },
      ...{ d: top({ p: { enum: many(26_000, () => 1) } }), e: top({ p: { minimum: 1 } }) },
    },
  ],
])('judges 64 KiB of %s in a moment', (_name, schema) => {
  expect(JSON.stringify(schema).length).toBeLessThan(64 * 1024);
  const takenMs = many(5, () => {
    const began = performance.now();
    judgedSchema(schema);
    return performance.now() - began;
  });
  // It takes up to 20 ms of a processor, and took from 700 ms to years.
  expect(Math.min(...takenMs)).toBeLessThan(500);
});

it('defines the target of a reference once, in whatever spelling it is referred to', () => {
  const large = { type: 'object', properties: { a: { description: 'x'.repeat(30_000) } } };
  const spelled = (bits: number) =>
    Array.from('properties', (char, at) => (bits & (1 << at) ? `%${char.charCodeAt(0).toString(16)}` : char));
  const names = Array.from({ length: 500 }, (_, bits) => `#/allOf/0/${spelled(bits).join('')}/large`);
  const { schema } = judgedSchema({
    allOf: [{ type: 'object', properties: { large } }],
    properties: Object.fromEntries(names.map(($ref, index) => [`p${index}`, { $ref }])),
  });
  const text = JSON.stringify(schema);
  expect(text.length).toBeLessThan(120_000);
  const { large: _large, ...others } = schema?.['properties'] as Fields;
  expect(new Set(Object.values(others).map((each) => JSON.stringify(each))).size).toBe(1);
});

it('refuses targets within targets that are large together', () => {
  let target: Fields = { description: 'x'.repeat(30_000) };
  for (let level = 0; level < 60; level += 1) target = { items: target };
  const refs = Array.from({ length: 60 }, (_, level) => `#/allOf/0/not${'/items'.repeat(level)}`);
  const properties = Object.fromEntries(refs.map(($ref, index) => [`p${index}`, { $ref }]));
  expect(judgedSchema({ allOf: [{ type: 'object', not: target }], properties }).schema).toBeNull();
  expect(judgedSchema({ allOf: [{ type: 'object', if: target }], properties }).reason).toContain('nowhere');
  const within = Object.fromEntries(
    refs.map((ref, index) => [`p${index}`, { $ref: ref.replace('/not', '/if') }]),
  );
  expect(judgedSchema({ allOf: [{ type: 'object', if: target }], properties: within }).reason).toBe(
    'input_schema has too many references.',
  );
});

it('makes names of definitions that no other definition has', () => {
  const { schema } = judgedSchema({
    allOf: [{ '!': { const: 1 }, '?': { const: 2 }, '*': { const: 3 } }],
    properties: { a: { $ref: '#/allOf/0/!' }, b: { $ref: '#/allOf/0/?' }, c: { $ref: '#/allOf/0/*' } },
    $defs: { _allOf_0_: { const: 0 }, _allOf_0__2: { const: 9 } },
  });
  const { properties, $defs } = schema as { properties: Record<string, { $ref: string }>; $defs: Fields };
  const targets = Object.values(properties).map(({ $ref: ref }) => $defs[ref.slice('#/$defs/'.length)]);
  expect(targets).toEqual([{ const: 1 }, { const: 2 }, { const: 3 }]);
  expect($defs).toMatchObject({ _allOf_0_: { const: 0 }, _allOf_0__2: { const: 9 } });
});

it('counts choices of null at each reference to them', () => {
  const reasonOf = (references: number): string | null =>
    judgedSchema({ ...layer('a', references), a: { anyOf: many(3_000, () => ({ type: 'null' })) } }).reason;
  expect([reasonOf(3), reasonOf(5)]).toEqual([null, 'input_schema has too many references.']);
});

it('takes eight levels of lists in the name of a type', () => {
  const judged = (levels: number): unknown => judgedSchema(top({ a: `string${'[]'.repeat(levels)}` }));
  const eight = many(8, () => null).reduce<Fields>((items) => ({ type: 'array', items }), city.city);
  expect(judged(8)).toEqual({ schema: top({ a: eight }), reason: null });
  expect(judged(9)).toEqual({ schema: null, reason: expect.stringContaining('unknown type') });
});

it('does not change the schema that it judges', () => {
  const schema = { properties: { ...city, required: ['city'] }, anyOf: [top(city)] };
  const before = structuredClone(schema);
  judgedSchema(schema);
  expect(schema).toEqual(before);
});
