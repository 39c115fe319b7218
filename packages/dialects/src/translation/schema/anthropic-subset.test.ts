import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anthropicSubset } from './anthropic-subset.ts';

function subset(schema: unknown): unknown {
  const read = anthropicSubset(JSON.stringify(schema));
  return read === null ? null : JSON.parse(read.schemaJson);
}

const shut = { additionalProperties: false };
const text = { type: 'string' };

it('leaves a schema of the subset as it is, to the byte', () => {
  const json =
    '{ "type":"object","properties":{"2":{"enum":[9007199254740993,1e2]},"1":{"type":["string","null"]}},"required":["2"],"additionalProperties":false}';
  expect(anthropicSubset(json)).toEqual({ schemaJson: json, isChanged: false, optional: 1, unions: 1 });
});

it('keeps order and numbers of a schema that it closes', () => {
  const json = '{"properties":{"2":{"enum":[9007199254740993,1e2]},"1":{"const":1.0}},"type":"object"}';
  expect(anthropicSubset(json)?.schemaJson).toBe(`${json.slice(0, -1)},"additionalProperties":false}`);
});

it.each<[string, unknown, unknown]>([
  [
    'an open object',
    { type: 'object', properties: { a: text } },
    { type: 'object', properties: { a: text }, ...shut },
  ],
  [
    'extra names beside its own',
    { type: 'object', properties: { a: text }, additionalProperties: true },
    { type: 'object', properties: { a: text }, ...shut },
  ],
  [
    'no type but properties',
    { properties: { a: text } },
    { type: 'object', properties: { a: text }, ...shut },
  ],
  ['an empty object', { type: 'object', ...shut }, { type: 'object', properties: {}, ...shut }],
  [
    'required names without a property',
    { type: 'object', properties: { a: text }, required: ['a', 'b'], ...shut },
    { type: 'object', properties: { a: text }, required: ['a'], ...shut },
  ],
  [
    'bounds',
    { type: 'integer', minimum: 1, maximum: 10 },
    { type: 'integer', description: '{minimum: 1, maximum: 10}' },
  ],
  [
    'bounds behind a description',
    { description: 'A score', type: 'integer', multipleOf: 2 },
    { description: 'A score\n\n{multipleOf: 2}', type: 'integer' },
  ],
  [
    'lengths and patterns',
    { type: 'string', minLength: 1, pattern: '^a"' },
    { type: 'string', description: '{minLength: 1, pattern: "^a\\""}' },
  ],
  [
    'formats',
    { type: 'array', items: { type: 'string', format: 'date' } },
    { type: 'array', items: { type: 'string', format: 'date' } },
  ],
  [
    'other formats',
    { type: 'integer', format: 'int64' },
    { type: 'integer', description: '{format: "int64"}' },
  ],
  [
    'bounds of lists',
    { type: 'array', items: text, minItems: 2, uniqueItems: true },
    { type: 'array', items: text, description: '{minItems: 2, uniqueItems: true}' },
  ],
  [
    'one element at least',
    { type: 'array', items: text, minItems: 1 },
    { type: 'array', items: text, minItems: 1 },
  ],
  [
    'oneOf',
    { oneOf: [text, { type: 'object', properties: { a: text } }] },
    { anyOf: [text, { type: 'object', properties: { a: text }, ...shut }] },
  ],
  [
    'a type outside of its choices',
    { type: 'string', anyOf: [{ format: 'date' }, { minLength: 3 }] },
    {
      anyOf: [
        { type: 'string', format: 'date' },
        { type: 'string', description: '{minLength: 3}' },
      ],
    },
  ],
  [
    'choices of required names',
    { type: 'object', properties: { a: text }, anyOf: [{ required: ['a'] }] },
    { type: 'object', properties: { a: text }, ...shut, description: '{anyOf: [{"required":["a"]}]}' },
  ],
  [
    'allOf of one',
    { description: 'd', allOf: [{ type: 'integer', maximum: 3 }] },
    { description: 'd\n\n{maximum: 3}', type: 'integer' },
  ],
  [
    'an object or null',
    { type: ['object', 'null'], properties: { a: text }, title: 'T' },
    { title: 'T', anyOf: [{ type: 'object', properties: { a: text }, ...shut }, { type: 'null' }] },
  ],
  ['types beside literals', { type: ['string', 'null'], enum: ['a', null] }, { enum: ['a', null] }],
  ['a type beside literals', { type: 'string', enum: ['a'] }, { type: 'string', enum: ['a'] }],
  [
    'definitions',
    {
      $ref: '#/$defs/A',
      $defs: { A: { type: 'object', properties: { n: { type: 'number', maximum: 1 } } } },
    },
    {
      $ref: '#/$defs/A',
      $defs: {
        A: { type: 'object', properties: { n: { type: 'number', description: '{maximum: 1}' } }, ...shut },
      },
    },
  ],
  [
    'siblings of a reference',
    {
      type: 'object',
      properties: { a: { $ref: '#/definitions/B', description: 'd' } },
      definitions: { B: text },
      ...shut,
    },
    { type: 'object', properties: { a: { $ref: '#/definitions/B' } }, definitions: { B: text }, ...shut },
  ],
  [
    'drafts',
    { $schema: 'http://json-schema.org/draft-07/schema#', ...text, default: 'x' },
    { ...text, description: '{default: "x"}' },
  ],
])('writes %s', (_name, schema, expected) => {
  expect(subset(schema)).toEqual(expected);
});

it.each<[string, unknown]>([
  ['any value', {}],
  ['true', true],
  ['a property of any value', { type: 'object', properties: { a: { title: 'A' } } }],
  ['any object', { type: 'object' }],
  ['a map', { type: 'object', additionalProperties: { type: 'string' } }],
  ['a map beside properties', { type: 'object', properties: { a: text }, additionalProperties: text }],
  ['a list of anything', { type: 'array' }],
  ['a tuple', { type: 'array', prefixItems: [text], items: text }],
  [
    'a recursive one',
    { $ref: '#/$defs/A', $defs: { A: { type: 'object', properties: { a: { $ref: '#/$defs/A' } } } } },
  ],
  ['a reference to the whole', { type: 'object', properties: { a: { $ref: '#' } } }],
  ['a reference to elsewhere', { $ref: 'https://example.com/schema' }],
  ['types of other names', { type: ['constructor', 'string'] }],
  ['several at once', { allOf: [{ properties: { a: text } }, { properties: { b: text } }] }],
])('has no form for %s', (_name, schema) => {
  expect(subset(schema)).toBeNull();
});

it('has no form for schemas with too many levels or objects', () => {
  const deep = Array.from({ length: 40 }).reduce((inner) => ({ type: 'array', items: inner }), text);
  const wide = {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`p${n}`, text])),
  };
  expect([subset(deep), subset(wide)]).toEqual([null, null]);
});

it('has no form for a schema with more than 2,000 schemas in it', () => {
  const wide = (schemas: number): unknown => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: schemas - 1 }, (_, n) => [`p${n}`, text])),
  });
  expect(subset(wide(2_000))).not.toBeNull();
  expect(subset(wide(2_001))).toBeNull();
});

it('has no form for definitions that refer to one another by the thousand', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 3_500 }, (_, n) => [`d${n}`, n === 0 ? text : { $ref: `#/$defs/d${n - 1}` }]),
  );
  expect(subset({ $ref: '#/$defs/d3499', $defs })).toBeNull();
});

it('writes the properties of a type once, however often the type is named', () => {
  const nested = (types: readonly string[], depth: number): unknown =>
    depth === 0 ? text : { type: types, properties: { a: nested(types, depth - 1) }, required: ['a'] };
  const length = (types: readonly string[]): number => JSON.stringify(subset(nested(types, 6))).length;
  // Without duplicates of eight names it would be written 262,144 times.
  expect(length(Array.from({ length: 8 }, () => 'object'))).toBe(length(['object']));
  expect(length(['object', 'null', 'object', 'null'])).toBe(length(['object', 'null']));
});

const bound = fc.constantFrom(
  'minimum',
  'maximum',
  'pattern',
  'maxItems',
  'uniqueItems',
  'format',
  'default',
  'minItems',
);
const schemas = fc.letrec<{ schema: Record<string, unknown> }>((tie) => {
  const notes = fc.dictionary(bound, fc.constantFrom<unknown>(0, 1, 2, 'date', 'int64', null, ['x']), {
    maxKeys: 3,
  });
  const one = (schema: fc.Arbitrary<Record<string, unknown>>): fc.Arbitrary<Record<string, unknown>> =>
    fc.tuple(schema, notes).map(([each, more]) => ({ ...more, ...each }));
  return {
    schema: fc.oneof(
      { maxDepth: 4 },
      one(
        fc.constantFrom<Record<string, unknown>>(
          { type: 'string' },
          { type: 'integer', title: 'N' },
          { enum: [1, 'a'] },
          { const: null },
        ),
      ),
      one(fc.record({ type: fc.constant('array'), items: tie('schema') })),
      one(
        fc
          .dictionary(fc.constantFrom('a', 'b', '7', 'items'), tie('schema'), { minKeys: 1, maxKeys: 3 })
          .map((properties) => ({
            type: 'object',
            properties,
            required: Object.keys(properties).slice(1),
            description: 'An object',
          })),
      ),
      fc.array(tie('schema'), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
    ),
  };
});

/** The SDK puts formats and counts behind other notes. */
function inOrder(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema), (name, value: unknown) =>
    name === 'description' && typeof value === 'string' ? value.split(/[{}]|, /).sort() : value,
  );
}

it("writes what Anthropic's own SDK writes", () => {
  fc.assert(
    fc.property(schemas.schema, (schema) => {
      expect(inOrder(subset(schema))).toEqual(inOrder(transformJSONSchema(schema)));
    }),
    { numRuns: 500 },
  );
});

it('writes a subset once', () => {
  fc.assert(
    fc.property(schemas.schema, (schema) => {
      const first = anthropicSubset(JSON.stringify(schema));
      expect(anthropicSubset(first?.schemaJson ?? '')).toMatchObject({ isChanged: false });
    }),
    { numRuns: 500 },
  );
});
