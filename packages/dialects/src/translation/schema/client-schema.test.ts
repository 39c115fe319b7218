import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Fields } from '@gatehouse/kit/fields';
import { mendedClientSchema } from './client-schema.ts';
import { isSoundSchema } from './sound-schema.ts';
import { judgedSchema } from './tool-schema.ts';

function mended(schema: unknown): unknown {
  const text = mendedClientSchema(JSON.stringify(schema))?.schemaJson;
  return text === undefined ? 'as it is' : JSON.parse(text);
}

const a = { a: { type: 'string' } };

it.each([
  { type: 'object', properties: {} },
  { type: 'object', properties: a, required: [], additionalProperties: { type: 'integer' } },
  {
    $schema: 'x',
    type: 'object',
    properties: { b: { $ref: '#/definitions/B' } },
    definitions: { B: { enum: [1] } },
  },
  { type: 'object', properties: { list: { type: ['array', 'null'], items: {}, minItems: 1 }, any: true } },
  {
    type: 'object',
    properties: { required: { type: 'boolean' }, self: { $ref: '#' }, x: { default: null } },
  },
  // Without a clear meaning: the provider's words are better than the gateway's.
  { type: 'array', items: {} },
  { type: 'object', properties: 'x' },
])('leaves %j as it is', (schema) => {
  expect(mended(schema)).toBe('as it is');
});

it.each<[unknown, unknown]>([
  [{}, { type: 'object', properties: {} }],
  [{ properties: a }, { type: 'object', properties: a }],
  [{ type: 'object' }, { type: 'object', properties: {} }],
  [
    { type: 'object', properties: null, required: null },
    { type: 'object', properties: {} },
  ],
  [
    { type: 'object', properties: [] },
    { type: 'object', properties: {} },
  ],
  [
    { type: ['object', 'null'], properties: a },
    { type: 'object', properties: a },
  ],
  [
    { type: 'OBJECT', properties: { b: { type: 'ARRAY' } } },
    { type: 'object', properties: { b: { type: 'array', items: {} } } },
  ],
  [
    { type: 'object', properties: { b: { type: ['array', 'null'] } } },
    { type: 'object', properties: { b: { type: ['array', 'null'], items: {} } } },
  ],
  [
    { type: 'object', properties: { b: { anyOf: [{ type: 'array' }, { type: 'None' }] } } },
    { type: 'object', properties: { b: { anyOf: [{ type: 'array', items: {} }, { type: 'null' }] } } },
  ],
  [
    { type: 'object', properties: { b: { type: 'array', items: [] } } },
    { type: 'object', properties: { b: { type: 'array', items: {} } } },
  ],
  [
    { type: 'object', properties: { b: { type: 'array', items: [{ type: 'str' }] } } },
    { type: 'object', properties: { b: { type: 'array', prefixItems: [{ type: 'string' }], items: {} } } },
  ],
  [
    { type: 'object', properties: { b: { type: 'number', minimum: 1, exclusiveMinimum: true } } },
    { type: 'object', properties: { b: { type: 'number', exclusiveMinimum: 1 } } },
  ],
  [
    { type: 'object', properties: { b: { type: 'string', description: null, enum: [] } } },
    { type: 'object', properties: { b: { type: 'string' } } },
  ],
  [
    { type: 'object', properties: { a: { type: 'string', required: true } } },
    { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
  ],
  [
    { $ref: '#/definitions/X', definitions: { X: { type: 'object', properties: a } } },
    { type: 'object', properties: a, definitions: { X: { type: 'object', properties: a } } },
  ],
  [
    { allOf: [{ properties: a }, { properties: { b: { type: 'array' } }, required: ['b'] }] },
    { type: 'object', properties: { ...a, b: { type: 'array', items: {} } }, required: ['b'] },
  ],
  // A reference to nowhere.
  [
    { properties: { b: { $ref: '#/definitions/Y' } } },
    { type: 'object', properties: { b: { $ref: '#/definitions/Y' } } },
  ],
])('mends %j', (schema, expected) => {
  expect(mended(schema)).toEqual(expected);
});

it('merges choices at the top, and says so in words', () => {
  const anyOf = [{ required: ['a'] }, { required: ['b'] }];
  const { schemaJson, note } = mendedClientSchema(
    JSON.stringify({ type: 'object', properties: { ...a, b: { type: 'integer' } }, anyOf }),
  ) ?? { schemaJson: '{}', note: null };
  expect(JSON.parse(schemaJson)).toEqual({ type: 'object', properties: { ...a, b: { type: 'integer' } } });
  expect(note).toBe(`The arguments match this JSON Schema: {"anyOf":${JSON.stringify(anyOf)}}`);
});

it('says in words what the top of the mended one lacks', () => {
  const top = { type: 'object', properties: a, not: { required: ['b'] }, const: {} };
  expect(mendedClientSchema(JSON.stringify(top))).toEqual({
    schemaJson: JSON.stringify({ type: 'object', properties: a }),
    note: 'The arguments match this JSON Schema: {"not":{"required":["b"]},"const":{}}',
  });
});

it('keeps numbers as written', () => {
  const text = '{"properties":{"a":{"type":"integer","maximum":9007199254740993,"enum":[1e2,1.0]}}}';
  expect(mendedClientSchema(text)?.schemaJson).toContain('"maximum":9007199254740993,"enum":[1e2,1.0]');
});

it('adds type and properties to a schema of up to 128 KiB, mends one of up to 64 KiB, and leaves deeper and larger ones', () => {
  const large = (chars: number, more: object = {}): object => ({
    description: 'x'.repeat(chars * 1024),
    ...more,
  });
  const odd = { properties: { b: { type: 'array' } } };
  expect(mended(large(120))).toEqual({ type: 'object', properties: {}, ...large(120) });
  expect(mended(large(60, odd))).toMatchObject({
    type: 'object',
    properties: { b: { type: 'array', items: {} } },
  });
  expect(mended(large(65, odd))).toEqual({ type: 'object', ...large(65, odd) });
  expect([mended(large(129)), mended(large(65, { type: 'object', ...odd }))]).toEqual([
    'as it is',
    'as it is',
  ]);
  const deep = `${'{"not":'.repeat(5_000)}1${'}'.repeat(5_000)}`;
  expect(mendedClientSchema(deep)).toBeNull();
});

const name = fc.constantFrom('a', 'b', 'required', 'type', '$ref', 'x y');
const odd = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(
      true,
      null,
      {},
      'string',
      { type: 'array' },
      { $ref: '#/$defs/a' },
      { enum: [] },
    ),
    fc.record(
      {
        type: fc.constantFrom<unknown>(
          'object',
          'array',
          'STRING',
          ['object', 'null'],
          ['array'],
          'None',
          null,
          'x',
        ),
        properties: fc.oneof(fc.constantFrom(null, []), fc.dictionary(name, tie('schema'), { maxKeys: 3 })),
        required: fc.constantFrom<unknown>(['a'], [], null, 'a', true),
        items: fc.oneof(fc.constant([]), tie('schema'), fc.array(tie('schema'), { maxLength: 2 })),
        anyOf: fc.array(tie('schema'), { maxLength: 2 }),
        $defs: fc.dictionary(name, tie('schema'), { maxKeys: 2 }),
        exclusiveMinimum: fc.constantFrom(true, 1),
        description: fc.constantFrom('d', null, ''),
      },
      { requiredKeys: [] },
    ),
  ),
}));

it('mends once, so that providers take it', () => {
  fc.assert(
    fc.property(odd.schema, (schema) => {
      if (typeof schema !== 'object' || schema === null) return;
      const after = mendedClientSchema(JSON.stringify(schema));
      if (after === null || isUnclear(after.schemaJson)) return;
      expect(mendedClientSchema(after.schemaJson)).toBeNull();
    }),
    { numRuns: 1_000 },
  );
});

it('takes for sound what the rules for MCP servers leave as it is', () => {
  fc.assert(
    fc.property(odd.schema, (schema) => {
      if (typeof schema !== 'object' || schema === null || !isSoundSchema(schema as Fields)) return;
      const { schema: judged } = judgedSchema(structuredClone(schema) as Fields);
      expect(withoutEmptyLists(judged)).toEqual(withoutEmptyLists(schema));
    }),
    { numRuns: 3_000 },
  );
});

/** A list of no required names is left out. */
function withoutEmptyLists(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema), (name, value: unknown) =>
    name === 'required' && Array.isArray(value) && value.length === 0 ? undefined : value,
  );
}

/** Schemas without a clear meaning get a type at their top and nothing else. */
function isUnclear(schemaJson: string): boolean {
  const again = mendedClientSchema(schemaJson);
  return again !== null && again.schemaJson === schemaJson;
}
