import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { asJsonSchema } from './schema.ts';

describe('an older schema of Google as JSON Schema', () => {
  it.each([
    ['has types in small letters', '{"type":"OBJECT"}', '{"type":"object"}'],
    ['may be null', '{"nullable":true,"type":"STRING"}', '{"type":["string","null"]}'],
    [
      'may be null among given values',
      '{"type":"STRING","enum":["A"],"nullable":true}',
      '{"type":["string","null"],"enum":["A",null]}',
    ],
    [
      'may be null beside other schemas',
      '{"any_of":[{"type":"STRING"}],"nullable":true}',
      '{"anyOf":[{"type":"string"},{"type":"null"}]}',
    ],
    ['may be null nowhere', '{"type":"STRING", "nullable" : false}', '{"type":"string"}'],
    ['has counts as numbers', '{"minItems":"3","max_items":"4"}', '{"minItems":3,"maxItems":4}'],
    ['keeps numbers', '{"minimum": 12345678901234567890, "a": 1.0}', null],
    [
      'keeps values',
      '{"enum":["A"],"default":{"type":"A","nullable":true},"example":{"min_items":"3"}}',
      null,
    ],
    ['keeps names that are numbers', '{"properties":{"2":{},"1":{}}}', null],
    [
      'keeps properties with names of keywords',
      '{"properties":{"nullable":{"type":"BOOLEAN"},"type":{"type":"STRING","nullable":true},"minItems":{"minItems":"3"}},"required":["nullable","type"]}',
      '{"properties":{"nullable":{"type":"boolean"},"type":{"type":["string","null"]},"minItems":{"minItems":3}},"required":["nullable","type"]}',
    ],
    [
      'is converted at any depth',
      '{"items":{"anyOf":[{"$defs":{"anyOf":{"type":"NULL"}},"additionalProperties":{"type":"INTEGER"}}]}}',
      '{"items":{"anyOf":[{"$defs":{"anyOf":{"type":"null"}},"additionalProperties":{"type":"integer"}}]}}',
    ],
  ])('%s', (_, given, written) => {
    expect(atOnce(asJsonSchema(given))).toBe(written ?? given);
  });

  it('is valid JSON of the same properties', () => {
    const name = fc.constantFrom('a', 'type', 'nullable', 'properties', 'items', 'enum', 'é"\\');
    const { schema } = fc.letrec((tie) => ({
      schema: fc.oneof({ depthSize: 'small' }, fc.constant({}), tie('full')),
      full: fc.record(
        {
          type: fc.constantFrom('STRING', 'object', 3, ['string']),
          nullable: fc.constantFrom(true, false, 'x', {}),
          properties: fc.dictionary(name, tie('schema')),
          items: tie('schema'),
          anyOf: fc.array(tie('schema'), { maxLength: 2 }),
          enum: fc.array(fc.jsonValue(), { maxLength: 2 }),
          minimum: fc.double({ noNaN: true, noDefaultInfinity: true }),
        },
        { requiredKeys: [] },
      ),
    }));
    fc.assert(
      fc.property(schema, fc.constantFrom(0, 1), (given, space) => {
        const read = JSON.parse(atOnce(asJsonSchema(JSON.stringify(given, null, space)))) as Record<
          string,
          unknown
        >;
        const { properties } = given as { properties?: object };
        expect(Object.keys(Object(read['properties']) as object)).toEqual(Object.keys(properties ?? {}));
        expect(read).not.toHaveProperty('nullable');
      }),
    );
  });
});
