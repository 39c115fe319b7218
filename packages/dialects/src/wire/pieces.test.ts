import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { applyEdits } from './json-edits.ts';
import { Pieces } from './pieces.ts';

it('come in parts of the same bytes, none larger than asked', () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 30 }), (all, most) => {
      const bytes = new Pieces(all.map((piece) => Buffer.from(piece)));
      const parts = [...bytes.parts(most)];
      expect(Buffer.concat(parts).equals(bytes.whole)).toBe(true);
      expect(bytes.length).toBe(bytes.whole.length);
      for (const part of parts) expect(part.length).toBeLessThanOrEqual(most);
      expect(parts.length).toBeLessThanOrEqual((2 * bytes.length) / most + 1);
    }),
  );
});

it('share the memory of a text that is edited', () => {
  const body = Buffer.alloc(1024 * 1024, 'x');
  const { all } = applyEdits(body, [{ at: 10, until: 11, text: 'ab' }]);
  expect(all.map(String).join('')).toBe(`${'x'.repeat(10)}ab${'x'.repeat(body.length - 11)}`);
  expect(all.filter(({ buffer }) => buffer === body.buffer)).toHaveLength(2);
});
