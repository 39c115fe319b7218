import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { replaced } from './replaced-text.ts';

it('replaces the first such text, however the stream is cut', async () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 30 });
  const property = fc.asyncProperty(letters, fc.array(fc.nat(8)), async (text, cuts) => {
    async function* chunks(): AsyncGenerator<Buffer> {
      let rest = await Promise.resolve(text);
      for (const length of cuts) {
        yield Buffer.from(rest.slice(0, length));
        rest = rest.slice(length);
      }
      yield Buffer.from(rest);
    }
    const parts: Buffer[] = [];
    for await (const part of replaced(chunks(), Buffer.from('abc'), Buffer.from('replaced')))
      parts.push(part);
    expect(Buffer.concat(parts).toString()).toBe(text.replace('abc', 'replaced'));
  });
  await fc.assert(property, { numRuns: 500 });
});
