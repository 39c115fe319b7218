import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  counterWindow,
  isDueToMove,
  periods,
  removableAt,
  type Calendar,
  type Period,
} from './policy-counters.ts';

const day = 24;

/** Windows of `length` that begin at `shift`, in hours of a calendar. */
function calendarAt(now: number, length = day, shift = 0): Calendar {
  const start = Math.floor((now - shift) / length) * length + shift;
  const window = { start, end: start + length };
  const all = Object.fromEntries(periods.map((period) => [period, window])) as unknown as Record<
    Period,
    typeof window
  >;
  return {
    now,
    minute: { start: now, end: now + 1 },
    periods: { ...all, total: { start: 0, end: null } },
  };
}

const policy = { period: 'day', countsSince: 0 } as const;
const row = (start: number, end: number | null) => ({ window: { start, end } });

describe('the window of a counter', () => {
  it.each([
    ['begins with the day', policy, calendarAt(50), null, { start: 48, end: 72 }, true],
    [
      'begins with its policy',
      { ...policy, countsSince: 49 },
      calendarAt(50),
      null,
      { start: 49, end: 72 },
      true,
    ],
    ['lasts', policy, calendarAt(50), row(48, 72), { start: 48, end: 72 }, false],
    ['is followed by the next one', policy, calendarAt(72), row(48, 72), { start: 72, end: 96 }, true],
    [
      'keeps its end in another zone',
      policy,
      calendarAt(50, day, 3),
      row(48, 72),
      { start: 48, end: 72 },
      false,
    ],
    [
      'is followed by one of the other zone, which does not overlap it',
      policy,
      calendarAt(72, day, 3),
      row(48, 72),
      { start: 72, end: 75 },
      true,
    ],
    [
      'begins again with a changed selection',
      { ...policy, countsSince: 60 },
      calendarAt(61),
      row(48, 72),
      { start: 60, end: 72 },
      true,
    ],
    ['of a clock before it is kept', policy, calendarAt(47), row(48, 72), { start: 48, end: 72 }, false],
    [
      'without an end lasts',
      { period: 'total', countsSince: 5 } as const,
      calendarAt(1e6),
      row(5, null),
      { start: 5, end: null },
      false,
    ],
  ])('%s', (...[, counted, calendar, newest, window, isNew]) => {
    expect(counterWindow(counted, { resource: 'budget', calendar, row: newest })).toEqual({ window, isNew });
  });

  it('never overlaps another, and has the time in it, however zones change', () => {
    const step = fc.record({
      passed: fc.integer({ min: 0, max: 60 }),
      shift: fc.integer({ min: -12, max: 14 }),
      length: fc.constantFrom(23, 24, 25),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1 }), (steps) => {
        let now = 1_000;
        let newest: ReturnType<typeof row> | null = null;
        for (const { passed, shift, length } of steps) {
          now += passed;
          const calendar = calendarAt(now, length, shift);
          const { window, isNew } = counterWindow(policy, { resource: 'budget', calendar, row: newest });
          expect(window.start <= now && (window.end ?? Infinity) > now).toBe(true);
          if (isNew && newest !== null)
            expect(window.start).toBeGreaterThanOrEqual(newest.window.end ?? Infinity);
          if (!isNew) expect(window).toEqual(newest?.window);
          newest = { window: { start: window.start, end: window.end } };
        }
      }),
    );
  });
});

const hourMs = 3_600_000;

describe('a counter is removed', () => {
  const now = 1_000_000_000_000;
  it.each([
    ['two days after the end of its budget', 'budget', false, now + hourMs, now + 49 * hourMs],
    ['never without an end', 'budget', false, null, Infinity],
    ['a day after the last use of a session', 'budget', true, null, now + 25 * hourMs],
    ['soon after its minute', 'requests', false, now + 1, now + 2 * hourMs],
    ['a day after its last slot', 'concurrency', false, null, now + 25 * hourMs],
  ] as const)('%s', (...[, resource, isPerSession, end, at]) => {
    expect(removableAt({ isPerSession }, { resource, window: { start: 0, end }, now })).toBe(at);
  });

  it('at a time that is stored anew once an hour', () => {
    expect(isDueToMove(now, now + hourMs - 1)).toBe(false);
    expect(isDueToMove(now, now + hourMs)).toBe(true);
    expect(isDueToMove(Infinity, Infinity)).toBe(false);
  });
});
