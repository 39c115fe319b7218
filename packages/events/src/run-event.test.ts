import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { cutText } from './cut-text.ts';
import { runEndedData, runStartedData } from './run-event.ts';
import { watermarkData } from './watermark.ts';

interface Schema {
  type?: string | string[];
  enum?: unknown[];
  format?: string;
  maxLength?: number;
  maximum?: number;
  maxItems?: number;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
}

/** Paths of strings, numbers and lists without a maximum. */
function unbounded(schema: Schema, path: string): string[] {
  const { anyOf = [], items, properties = {} } = schema;
  const types = [schema.type ?? []].flat();
  const isText = types.includes('string') && schema.enum === undefined && schema.format !== 'uuid';
  const isNumber = types.includes('number') || types.includes('integer');
  const bounded =
    (!isText || schema.maxLength !== undefined) &&
    (!isNumber || (schema.maximum ?? Infinity) < Number.MAX_SAFE_INTEGER) &&
    (!types.includes('array') || schema.maxItems !== undefined);
  return [
    ...(bounded ? [] : [path]),
    ...anyOf.flatMap((each) => unbounded(each, path)),
    ...(items === undefined ? [] : unbounded(items, `${path}[]`)),
    ...Object.entries(properties).flatMap(([name, each]) => unbounded(each, `${path}.${name}`)),
  ];
}

describe('the schema of an event', () => {
  it.each(Object.entries({ runStartedData, runEndedData, watermarkData }))(
    'states the maximum of every string, number and list: %s',
    (name, shape) => {
      const schema = z.toJSONSchema(shape, { target: 'draft-7' }) as Schema;
      expect(Object.keys(schema.properties ?? {})).not.toEqual([]);
      expect(unbounded(schema, name)).toEqual([]);
    },
  );

  it('finds what has none', () => {
    const shape = z.object({ list: z.array(z.string()), count: z.number().nullable() });
    expect(unbounded(z.toJSONSchema(shape) as Schema, 'it')).toEqual(['it.list', 'it.list[]', 'it.count']);
  });
});

describe('a text that is cut', () => {
  it('is the beginning of the text in whole characters', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 });
    fc.assert(
      fc.property(text, fc.nat(30), (whole, max) => {
        const cut = cutText(whole, max);
        expect(cut.length).toBeLessThanOrEqual(max);
        expect(whole.startsWith(cut)).toBe(true);
        expect(cut.isWellFormed()).toBe(true);
        expect(cut.length).toBeGreaterThanOrEqual(Math.min(max - 1, whole.length));
      }),
    );
  });

  it('keeps lone surrogates where they are', () => {
    expect(cutText('\udc00x\ud800y', 3)).toBe('\udc00x');
    expect(cutText('\udc00x\ud800y', 4)).toBe('\udc00x\ud800y');
  });
});
