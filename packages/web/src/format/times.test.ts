import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { daysBefore, daysOf, isPeriod, periodOptions, rangeOf, type PeriodName } from './period.ts';
import {
  dayAfter,
  dayIn,
  daysBetween,
  elapsedSince,
  exactTimeIn,
  shortTimeIn,
  startOfDay,
  timeIn,
} from './times.ts';

const zones = [
  'UTC',
  'Europe/Berlin',
  'Asia/Ho_Chi_Minh',
  'America/Santiago',
  'Pacific/Kiritimati',
  'Asia/Kathmandu',
];

describe('times', () => {
  it('are those of the zone', () => {
    expect(timeIn('2026-03-29T00:59:59.999Z', 'Europe/Berlin')).toBe('2026-03-29 01:59:59');
    expect(timeIn('2026-03-29T01:00:00.000Z', 'Europe/Berlin')).toBe('2026-03-29 03:00:00');
    expect(timeIn('2025-12-31T23:00:00.000Z', 'Asia/Ho_Chi_Minh')).toBe('2026-01-01 06:00:00');
  });

  it('are short in lists, with the year where it is another one', () => {
    const now = new Date('2026-03-31T12:00:00Z');
    expect(shortTimeIn('2026-03-29T01:00:00.000Z', 'Europe/Berlin', now)).toBe('Mar 29, 03:00');
    expect(shortTimeIn('2025-12-31T23:30:00.000Z', 'Europe/Berlin', now)).toBe('Jan 1, 00:30');
    expect(shortTimeIn('2025-12-31T23:30:00.000Z', 'UTC', now)).toBe('Dec 31, 2025');
    expect(exactTimeIn('2026-03-29T01:00:09.900Z', 'Europe/Berlin', now)).toBe('Mar 29, 03:00:09');
    expect(exactTimeIn('2025-12-31T23:30:00.000Z', 'UTC', now)).toBe('Dec 31, 2025, 23:30:00');
  });

  it.each([
    ['2026-03-31T12:00:05Z', '0 s'],
    ['2026-03-31T11:59:52Z', '8 s'],
    ['2026-03-31T11:56:40Z', '3 min 20 s'],
    ['2026-03-31T09:54:59Z', '2 h 5 min'],
  ])('%s is %s ago', (at, text) => {
    expect(elapsedSince(at, Date.parse('2026-03-31T12:00:00Z'))).toBe(text);
  });

  it.each([
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z'],
    ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00.000Z'],
    ['2026-10-26', 'Europe/Berlin', '2026-10-25T23:00:00.000Z'],
    ['2026-01-01', 'Asia/Kathmandu', '2025-12-31T18:15:00.000Z'],
    ['2026-01-01', 'Pacific/Kiritimati', '2025-12-31T10:00:00.000Z'],
    // Clocks skip midnight.
    ['2025-09-07', 'America/Santiago', '2025-09-07T04:00:00.000Z'],
  ])('the day %s begins in %s at %s', (day, zone, start) => {
    expect(startOfDay(day, zone).toISOString()).toBe(start);
  });

  it('a day begins at its first moment, in any zone', () => {
    const moment = fc.date({
      min: new Date('2020-01-01'),
      max: new Date('2030-01-01'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moment, fc.constantFrom(...zones), (at, zone) => {
        const day = dayIn(at, zone);
        const start = startOfDay(day, zone);
        expect(dayIn(start, zone)).toBe(day);
        expect(dayIn(new Date(start.getTime() - 60_000), zone) < day).toBe(true);
      }),
    );
  });

  it('days follow each other over ends of months and years', () => {
    expect(dayAfter('2028-02-28')).toBe('2028-02-29');
    expect(dayAfter('2026-01-01', -1)).toBe('2025-12-31');
    expect(daysBetween('2026-02-27', '2026-03-02')).toEqual([
      '2026-02-27',
      '2026-02-28',
      '2026-03-01',
      '2026-03-02',
    ]);
  });
});

describe('periods', () => {
  const now = new Date('2026-03-31T23:30:00Z');

  it('are a name or one day of the calendar', () => {
    expect(['7d', 'month', '2026-03-29', '2028-02-29'].every(isPeriod)).toBe(true);
    expect(['', '8d', '2026-02-29', '2026-13-01', '2026-3-29', '2026-03-29T00'].some(isPeriod)).toBe(false);
    const day = { first: '2026-03-29', last: '2026-03-29' };
    expect(daysOf('2026-03-29', now, 'Europe/Berlin')).toEqual(day);
    expect(daysBefore('2026-03-29', day)).toEqual({ first: '2026-03-28', last: '2026-03-28' });
    expect(periodOptions('2026-03-29')).toMatchObject({ '7d': 'Last 7 days', '2026-03-29': 'Mar 29' });
    expect(periodOptions('7d')).not.toHaveProperty('2026-03-29');
  });

  it('are days of the tenant, whose calendar may be a month ahead', () => {
    expect(daysOf('today', now, 'UTC')).toEqual({ first: '2026-03-31', last: '2026-03-31' });
    expect(daysOf('today', now, 'Europe/Berlin')).toEqual({ first: '2026-04-01', last: '2026-04-01' });
    expect(daysOf('yesterday', now, 'UTC')).toEqual({ first: '2026-03-30', last: '2026-03-30' });
    expect(daysOf('yesterday', now, 'Europe/Berlin')).toEqual({ first: '2026-03-31', last: '2026-03-31' });
    expect(daysOf('7d', now, 'UTC')).toEqual({ first: '2026-03-25', last: '2026-03-31' });
    expect(daysOf('30d', now, 'UTC')).toEqual({ first: '2026-03-02', last: '2026-03-31' });
    expect(daysOf('month', now, 'UTC')).toEqual({ first: '2026-03-01', last: '2026-03-31' });
    expect(daysOf('last_month', now, 'UTC')).toEqual({ first: '2026-02-01', last: '2026-02-28' });
    expect(daysOf('last_month', now, 'Europe/Berlin')).toEqual({ first: '2026-03-01', last: '2026-03-31' });
  });

  it.each([
    ['today', { first: '2026-03-30', last: '2026-03-30' }],
    ['yesterday', { first: '2026-03-29', last: '2026-03-29' }],
    ['7d', { first: '2026-03-18', last: '2026-03-24' }],
    ['30d', { first: '2026-01-31', last: '2026-03-01' }],
    ['month', { first: '2026-02-01', last: '2026-02-28' }],
    ['last_month', { first: '2026-01-01', last: '2026-01-31' }],
  ] satisfies [PeriodName, object][])('come after days of the calendar: %s', (name, before) => {
    expect(daysBefore(name, daysOf(name, now, 'UTC'))).toEqual(before);
  });

  it('come after whole days over a change of the clock', () => {
    const before = daysBefore('7d', { first: '2026-03-30', last: '2026-04-05' });
    expect(rangeOf(before, 'Europe/Berlin')).toMatchObject({
      from: '2026-03-22T23:00:00.000Z',
      to: '2026-03-29T22:00:00.000Z',
    });
  });

  it('ask the API for whole days, also where one has 23 hours', () => {
    expect(rangeOf({ first: '2026-03-29', last: '2026-03-29' }, 'Europe/Berlin')).toEqual({
      from: '2026-03-28T23:00:00.000Z',
      to: '2026-03-29T22:00:00.000Z',
      timezone: 'Europe/Berlin',
    });
  });
});
