import { describe, expect, it } from '@jest/globals';
import type { DialectName } from '@gatehouse/contract/dialects';
import { AppError } from '@gatehouse/kit/errors';
import fc from 'fast-check';
import { carriedKey, keysInQuery } from './carried-key.ts';

const url = '/v1/models';

/** The names and values of `headers`, each value as often as it was sent. */
function carried(
  dialect: DialectName,
  headers: Record<string, string | string[]>,
  at = url,
): string | undefined {
  const valuesOf = (name: string): string[] | undefined =>
    headers[name] === undefined ? undefined : [headers[name]].flat();
  try {
    return carriedKey(dialect, { url: at, valuesOf }).authorization;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

describe('the key of a request', () => {
  it.each<
    [dialect: DialectName, headers: Record<string, string | string[]>, url: string, found: string | undefined]
  >([
    ['chat', { authorization: 'Bearer a', 'x-api-key': 'b' }, url, 'Bearer a'],
    ['chat', { 'x-api-key': 'b' }, `${url}?key=c`, undefined],
    ['messages', { 'x-api-key': 'a' }, url, 'Bearer a'],
    ['chat', { 'api-key': 'a' }, url, undefined],
    ['chat', { 'api-key': 'a', 'x-api-key': 'b' }, '/openai/models', 'Bearer a'],
    ['responses', { 'api-key': 'a' }, '/openai/v1/responses', 'Bearer a'],
    ['messages', { authorization: 'bearer  a', 'x-api-key': 'a' }, url, 'Bearer a'],
    ['messages', { authorization: 'Bearer', 'x-api-key': 'a' }, url, 'Bearer a'],
    ['messages', { authorization: 'Bearer a', 'x-api-key': '' }, url, 'Bearer a'],
    ['messages', { 'x-goog-api-key': 'a' }, `${url}?key=a`, undefined],
    ['gemini', { 'x-goog-api-key': 'a' }, url, 'Bearer a'],
    ['gemini', { 'x-goog-api-key': 'a, a' }, `${url}?key=a&%6bey=a`, 'Bearer a'],
    ['gemini', { 'x-api-key': 'b' }, `${url}?x=1&key=a%62`, 'Bearer ab'],
    ['gemini', { authorization: 'Bearer a' }, `${url}?key=`, 'Bearer a'],
    ['gemini', {}, url, undefined],
    ['chat', { authorization: ['Bearer a', 'Bearer a'] }, url, 'Bearer a'],
    ['messages', { 'x-api-key': ['a', 'a'] }, url, 'Bearer a'],
  ])('of %s with %j at %s is %s', (dialect, headers, at, found) => {
    expect(carried(dialect, headers, at)).toBe(found);
  });

  it('is not one of another scheme of Authorization', () => {
    expect(carried('messages', { authorization: 'Basic a' })).toBe('Basic a');
    expect(carried('messages', { authorization: 'Basic a', 'x-api-key': 'b' })).toBe('Bearer b');
  });

  it.each<[dialect: DialectName, headers: Record<string, string | string[]>, url: string]>([
    ['chat', { authorization: ['Bearer a', 'Bearer b'] }, url],
    ['messages', { authorization: ['Bearer a', 'Basic a'] }, url],
    ['messages', { 'x-api-key': ['a', 'b'] }, url],
    ['chat', { 'api-key': ['a', 'b'] }, '/openai/models'],
    ['messages', { authorization: 'Bearer a', 'x-api-key': 'b' }, url],
    ['messages', { authorization: 'Bearer a b', 'x-api-key': 'a' }, url],
    ['messages', { 'x-api-key': 'a, b' }, url],
    ['chat', { authorization: 'Bearer a', 'api-key': 'b' }, '/openai/models'],
    ['gemini', { authorization: 'Bearer a', 'x-goog-api-key': 'b' }, url],
    ['gemini', { 'x-goog-api-key': 'a' }, `${url}?key=b`],
    ['gemini', { authorization: 'Bearer a' }, `${url}?%6Bey=b`],
    ['gemini', {}, `${url}?key=a&key=b`],
  ])('is refused when another one stands beside it: %s %j %s', (dialect, headers, at) => {
    expect(carried(dialect, headers, at)).toBe('conflicting_credentials');
  });
});

describe('the URL of a request', () => {
  it.each([
    ['/v1/models?key=a', '/v1/models'],
    ['/v1/models?a=%26&key=a&b', '/v1/models?a=%26&b'],
    ['/v1/models?%6B%65%79=a&Key=b&keys=c', '/v1/models?Key=b&keys=c'],
    ['/v1/models?', '/v1/models?'],
    ['/v1/models', '/v1/models'],
  ])('%s is passed on as %s', (from, to) => {
    const valuesOf = (): undefined => undefined;
    expect(carriedKey('gemini', { url: from, valuesOf }).url).toBe(to);
    expect(carriedKey('messages', { url: from, valuesOf }).url).toBe(from);
  });

  it('holds no key, however its name is written, and all other parameters as they were', () => {
    const marks = fc.constantFrom(
      'key',
      '%6Bey',
      'k%65y',
      'KEY',
      'a',
      '%',
      '+',
      '=',
      '&',
      '?',
      'secret',
      '%3D',
    );
    fc.assert(
      fc.property(fc.array(marks, { maxLength: 12 }), (parts) => {
        const query = parts.join('');
        const { rest } = keysInQuery(`/x?${query}`, 'key');
        const left = [...new URLSearchParams(rest.slice('/x?'.length))];
        expect(left.map(([name]) => name)).not.toContain('key');
        // A first question mark is not part of a name.
        if (!query.includes('?'))
          expect(left).toEqual([...new URLSearchParams(query)].filter(([name]) => name !== 'key'));
      }),
      { numRuns: 2_000 },
    );
  });
});
