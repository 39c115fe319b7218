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
  [top({ a: { enum: [] }, b: { enum: 'x' }, c: { anyOf: [] } }), top({ a: {}, b: { enum: ['x'] }, c: {} })],
  [
    { anyOf: [top(city, { required: ['city'] }), top({ zip: { type: 'string' } })] },
    top({ zip: { type: 'string' }, ...city }),
  ],
  [
    { allOf: [top(city, { required: ['city'] }), top({ zip: true }, { required: ['zip'] })] },
    top({ zip: true, ...city }, { required: ['city', 'zip'] }),
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
  [{ $ref: '#' }, 'too many references'],
  [{ anyOf: [top(city), { type: 'string' }] }, 'not that of an object'],
])('says why %j can’t be used', (schema, reason) => {
  expect(judgedSchema(schema)).toEqual({ schema: null, reason: expect.stringContaining(reason) });
});

it('says so where a schema is nested beyond the stack', () => {
  const deep = Array.from({ length: 50_000 }).reduce<Fields>((items) => ({ type: 'array', items }), {});
  expect(judgedSchema(top({ deep })).reason).toBe('input_schema is nested too deeply.');
});

it('does not change the schema that it judges', () => {
  const schema = { properties: { ...city, required: ['city'] }, anyOf: [top(city)] };
  const before = structuredClone(schema);
  judgedSchema(schema);
  expect(schema).toEqual(before);
});
