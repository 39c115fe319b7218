import { describe, expect, it } from '@jest/globals';
import { AppError } from './errors.ts';
import fc from 'fast-check';
import { z } from 'zod';
import { queryObject, validate } from './validate.ts';

const shape = z.strictObject({
  name: z.string().min(1),
  count: z.int().max(5).optional(),
  inner: z
    .strictObject({ list: z.array(z.strictObject({ kind: z.enum(['a', 'b']) })).default([]) })
    .default({ list: [] }),
});

function refusal(work: () => unknown): { code: string; param: string | null; message: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, param: error.param, message: error.message };
    throw error;
  }
  throw new Error('was accepted');
}

describe('a body that does not fit', () => {
  it.each<[unknown, string, string | null, RegExp]>([
    [{}, 'missing_required_parameter', 'name', /^Missing required field: name\.$/],
    [{ name: null }, 'invalid_type', 'name', /^Invalid value for name: .*\.$/],
    [{ name: 7 }, 'invalid_type', 'name', /name/],
    [{ name: '' }, 'invalid_value', 'name', /name/],
    [{ name: 'x', count: 6 }, 'invalid_value', 'count', /count/],
    [{ name: 'x', count: '1' }, 'invalid_type', 'count', /count/],
    [{ name: 'x', other: 1 }, 'unknown_parameter', 'other', /^Unknown field: other\.$/],
    [{ name: 'x', inner: { nope: 1 } }, 'unknown_parameter', 'inner.nope', /inner\.nope/],
    [
      { name: 'x', inner: { list: [{ kind: 'a' }, {}] } },
      'missing_required_parameter',
      'inner.list[1].kind',
      /inner\.list\[1\]\.kind/,
    ],
    [{ name: 'x', inner: { list: [{ kind: 'c' }] } }, 'invalid_value', 'inner.list[0].kind', /kind/],
    [{ name: 'x', inner: { list: [null] } }, 'invalid_type', 'inner.list[0]', /list\[0\]/],
    [JSON.parse('{"name":"x","__proto__":1}'), 'unknown_parameter', '__proto__', /__proto__/],
    [null, 'invalid_type', null, /^The request body must be a JSON object\.$/],
    [[], 'invalid_type', null, /JSON object/],
    ['text', 'invalid_type', null, /JSON object/],
  ])('%j is refused with the field’s name', (value, code, param, message) => {
    const refused = refusal(() => validate(shape, value, 'body'));
    expect(refused).toMatchObject({ code, param });
    expect(refused.message).toMatch(message);
  });

  it('gets the first problem, and how many more there are', () => {
    const refused = refusal(() => validate(shape, { count: 'x', inner: 1 }, 'body'));
    expect(refused.param).toBe('name');
    expect(refused.message).toContain('(and 2 more)');
  });

  it('gets no endless name back', () => {
    const refused = refusal(() => validate(shape, { name: 'x', ['y'.repeat(10_000)]: 1 }, 'body'));
    expect(refused.param).toHaveLength(200);
    expect(refused.message.length).toBeLessThan(300);
  });
});

it('a body that fits comes back with its defaults', () => {
  expect(validate(shape, { name: 'x' }, 'body')).toEqual({ name: 'x', inner: { list: [] } });
});

describe('query parameters', () => {
  it('are decoded from their URL encoding', () => {
    expect({ ...queryObject('a=1&b=x%20y+z&c=&d&%C3%BC=%C3%A4') }).toEqual({
      a: '1',
      b: 'x y z',
      c: '',
      d: '',
      ü: 'ä',
    });
    expect({ ...queryObject('') }).toEqual({});
  });

  it.each(['a=1&a=2', 'a=1&a=1', 'a&b&%61', '__proto__=1&__proto__=2', 'toString=1&toString=2'])(
    'given twice are refused: %s',
    (query) => {
      expect(refusal(() => queryObject(query))).toMatchObject({
        code: 'invalid_value',
        param: expect.any(String),
      });
    },
  );

  it('that are unknown are named, under every name', () => {
    for (const name of ['other', '__proto__', 'constructor', 'hasOwnProperty']) {
      const refused = refusal(() =>
        validate(z.strictObject({ limit: z.string().optional() }), queryObject(`${name}=1`), 'query'),
      );
      expect(refused).toEqual({
        code: 'unknown_parameter',
        param: name,
        message: `Unknown query parameter: ${name}.`,
      });
    }
  });

  it('come back as they were written, or as an error of ours', () => {
    const pairs = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), fc.string()), {
      selector: ([name]) => name,
    });
    fc.assert(
      fc.property(pairs, (given) => {
        const read = queryObject(new URLSearchParams(given).toString());
        expect(Object.entries(read).sort()).toEqual([...given].sort());
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (query) => {
        try {
          queryObject(query);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }),
    );
  });
});
