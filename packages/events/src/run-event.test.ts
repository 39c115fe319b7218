import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cutText } from './cut-text.ts';

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
