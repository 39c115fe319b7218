import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { returnTo } from './return-to.ts';

it.each(['/app/', '/app/costs?from=2026-01-01&group_by=model#chart', '/a//b', '/%2f%2fexample.com'])(
  'leads to the path %s',
  (path) => {
    expect(returnTo(path, '/')).toBe(path);
  },
);

it.each([
  undefined,
  '',
  'app',
  'https://example.com/',
  '//example.com',
  '/\\example.com',
  '/\t/example.com',
  '/\n\\example.com',
  '/.//example.com',
  '/a/..//example.com',
  '\\/example.com',
  ' //example.com',
  'javascript:alert(1)',
])('leads nowhere else for %j', (given) => {
  expect(returnTo(given, '/')).toBe('/');
});

it('never leads to another origin, however a browser reads it', () => {
  const piece = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '\t',
    '\n',
    ' ',
    '@',
    ':',
    '?',
    '#',
    '%2f',
    'example.com',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const path = returnTo(pieces.join(''), '/');
      expect(new URL(path, 'https://gateway.example.com').origin).toBe('https://gateway.example.com');
      expect(path).toMatch(/^\/(?![/\\])[^\s]*$/);
    }),
    { numRuns: 2_000 },
  );
});
