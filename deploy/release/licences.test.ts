import { describe, expect, it } from '@jest/globals';
import { isAllowed, licenceList } from './licences.ts';
import { componentOf } from './sbom.ts';

describe('licences of production dependencies', () => {
  it.each([
    ['MIT', true],
    ['(MIT OR GPL-3.0-only)', true],
    ['(MIT AND BSD-3-Clause)', true],
    ['(MIT AND GPL-3.0-only)', false],
    ['(MIT AND (Apache-2.0 OR GPL-3.0-only))', false],
    ['AGPL-3.0-only', false],
    ['SEE LICENSE IN LICENSE.md', false],
    ['', false],
  ])('%p is allowed: %p', (expression, expected) => {
    expect(isAllowed(expression)).toBe(expected);
  });

  it('are listed once for each package, and all that are not allowed are named', () => {
    const a = componentOf('@a/one', { version: '1.0.0', license: 'MIT' });
    const b = componentOf('b', { version: '2.0.0', license: '(MIT OR CC0-1.0)' });
    expect(licenceList([b, a, b])).toBe('@a/one@1.0.0\tMIT\nb@2.0.0\t(MIT OR CC0-1.0)\n');
    const none = componentOf('none', { version: '1.0.0' });
    const copyleft = componentOf('copyleft', { version: '3.0.0', license: 'GPL-3.0-only' });
    expect(() => licenceList([a, none, copyleft])).toThrow(
      /copyleft@3.0.0: GPL-3.0-only\n {2}none@1.0.0: states none/,
    );
  });
});
