import { expect, it } from '@jest/globals';
import { isNamedHost } from './host-pattern.ts';

it.each([
  [[], 'any.example', true],
  [['docs.example.com'], 'docs.example.com', true],
  [['docs.example.com'], 'docs.example.com.', true],
  [['docs.example.com'], 'example.com', false],
  [['docs.example.com'], 'a.docs.example.com', false],
  [['*.example.com'], 'a.b.example.com', true],
  [['*.example.com'], 'example.com', false],
  [['*.example.com'], 'evilexample.com', false],
  [['*.example.com'], 'a.example.com.evil.test', false],
  [['a.test', 'b.test'], 'b.test', true],
])('patterns %j and the host %s', (patterns, host, expected) => {
  expect(isNamedHost(patterns, host)).toBe(expected);
});
