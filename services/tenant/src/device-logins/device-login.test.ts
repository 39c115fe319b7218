import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newUserCode, readUserCode } from './device-login.ts';

describe('a code that a person types', () => {
  it('is the one that was shown, however it is spaced and in whatever case', () => {
    fc.assert(
      fc.property(fc.constant(null).map(newUserCode), fc.boolean(), fc.nat(8), (code, isSmall, at) => {
        expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
        const typed = `${code.slice(0, at)} ${code.slice(at)}`.replace('-', '');
        expect(readUserCode(isSmall ? typed.toLowerCase() : typed)).toBe(code);
      }),
    );
  });

  it('is none of any other text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const code = readUserCode(text);
        if (code !== null) expect(text.toUpperCase().replaceAll(/[\s-]/g, '')).toBe(code.replace('-', ''));
      }),
    );
    for (const text of ['', 'BCDF-GHJ', 'BCDF-GHJKL', 'ABCD-EFGH', 'BCDF_GHJK', 'BCDF-GHJ1'])
      expect(readUserCode(text)).toBeNull();
  });

  it('differs from the one before, and uses all letters', () => {
    const codes = Array.from({ length: 2_000 }, newUserCode);
    expect(new Set(codes).size).toBe(codes.length);
    expect(new Set(codes.join('').replaceAll('-', '')).size).toBe(20);
  });
});
