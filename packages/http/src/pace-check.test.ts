import { describe, expect, it } from '@jest/globals';
import { defaultMinBytesPerSecond, defaultWindowMs, PaceCheck } from './pace-check.ts';

/** The tick at which a body that has sent `bytesAt(tick)` before each tick is too slow; null for never. */
function foundSlowAt(bytesAt: (tick: number) => number, ticks = 100): number | null {
  const check = new PaceCheck(1_200);
  for (let tick = 1; tick <= ticks; tick += 1) {
    check.note(bytesAt(tick));
    if (check.tick()) return tick;
  }
  return null;
}

describe('the pace of a body', () => {
  it('is at least 256 bytes a second over a minute, unless a caller says otherwise', () => {
    expect([defaultMinBytesPerSecond, defaultWindowMs]).toEqual([256, 60_000]);
  });

  it.each<[string, (tick: number) => number, number | null]>([
    ['no bytes at all: after one window', () => 0, 12],
    ['one byte short of the minimum: after one window', (tick) => (tick === 1 ? 99 : 100), 12],
    ['the minimum, evenly: never', () => 100, null],
    ['the minimum, in one piece a window: never', (tick) => (tick % 12 === 1 ? 1_200 : 0), null],
    [
      'a pause of eleven twelfths of a window between fast parts: never',
      (tick) => (tick % 12 ? 0 : 5_000),
      null,
    ],
    ['a stop after a fast beginning: one window after it', (tick) => (tick <= 5 ? 1_000_000 : 0), 17],
    ['slower than the minimum after a fast beginning', (tick) => (tick === 1 ? 1_000_000 : 99), 13],
  ])('%s', (_name, bytesAt, expected) => {
    expect(foundSlowAt(bytesAt)).toBe(expected);
  });
});
