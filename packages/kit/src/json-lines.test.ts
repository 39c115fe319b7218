import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { linesOf } from './json-lines.ts';

async function* inPieces(text: string, sizes: readonly number[]): AsyncGenerator<Buffer, void> {
  const bytes = Buffer.from(text);
  let at = 0;
  for (let n = 0; at < bytes.length; n += 1) {
    const size = sizes[n % sizes.length] ?? 1;
    yield await Promise.resolve(bytes.subarray(at, at + size));
    at += size;
  }
}

async function lines(
  text: string,
  sizes: readonly number[] = [1_000],
  max = 1_000,
): Promise<[number, string][]> {
  const found: [number, string][] = [];
  for await (const { number, bytes } of linesOf(inPieces(text, sizes), max))
    found.push([number, bytes.toString()]);
  return found;
}

describe('the lines of a stream', () => {
  it('have their numbers, and blank ones count', async () => {
    expect(await lines('a\n\n\r\nb\r\n\nc')).toEqual([
      [1, 'a'],
      [4, 'b\r'],
      [6, 'c'],
    ]);
  });

  it('are the same however the stream is cut', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'ü', '🦆', '\n', '\r') });
    const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(text, sizes, async (joined, cuts) => {
        expect(await lines(joined, cuts)).toEqual(await lines(joined));
        const expected = joined.split('\n').filter((line) => line !== '' && line !== '\r');
        expect((await lines(joined, cuts)).map(([, line]) => line)).toEqual(expected);
      }),
    );
  });

  it('are refused when one is too long, before its end has come, and when there are too many', async () => {
    expect(await lines(`${'x'.repeat(9)}\n`, [4], 9)).toHaveLength(1);
    await expect(lines('\n'.repeat(1_000_000), [65_536])).rejects.toThrow('more than 1000000 lines');
    await expect(lines(`a\n${'x'.repeat(10)}`, [4], 9)).rejects.toThrow('Line 2 is longer than 9 bytes.');
  });

  it('let the event loop do other work between them, also when all came at once', async () => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    expect(await lines('1\n'.repeat(400_000), [800_000])).toHaveLength(400_000);
    isOver = true;
    expect(turns).toBeGreaterThan(1);
  });

  it('are left out when they are too long, if the caller counts them', async () => {
    const text = `a\n${'x'.repeat(30)}\nb\n${'y'.repeat(10)}`;
    for (const size of [1, 4, 7, 100]) {
      let tooLong = 0;
      const found: string[] = [];
      for await (const { number, bytes } of linesOf(inPieces(text, [size]), 9, () => (tooLong += 1)))
        found.push(`${number} ${bytes.toString()}`);
      expect({ found, tooLong }).toEqual({ found: ['1 a', '3 b'], tooLong: 2 });
    }
  });
});
