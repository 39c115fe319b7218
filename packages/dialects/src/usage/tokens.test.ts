import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isTokens, toTokens } from './tokens.ts';

it('a count of tokens is a safe integer of at least 0, whatever it is made of', () => {
  fc.assert(
    fc.property(fc.oneof(fc.double(), fc.constantFrom(0 / 0, 1 / 0, -1 / 0, 1e300, -0.5)), (value) => {
      const tokens = toTokens(value);
      expect(isTokens(tokens) && Number.isSafeInteger(tokens)).toBe(true);
      expect(BigInt(tokens)).toBeGreaterThanOrEqual(0n);
      if (value > 0 && value <= 1e12) expect(tokens).toBe(Math.ceil(value));
    }),
  );
});
