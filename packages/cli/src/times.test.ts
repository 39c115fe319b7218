import { expect, it } from '@jest/globals';
import { timeOf, type TimeSettings } from './times.ts';

const now = new Date('2026-11-30T12:00:00Z');
const time = (text: string, settings: Partial<TimeSettings> = {}) =>
  timeOf(text, { option: 'from', now, direction: 'past', timezone: 'UTC', ...settings });

it.each([
  ['7d', '2026-11-23T12:00:00.000Z'],
  ['2w', '2026-11-16T12:00:00.000Z'],
  ['24h', '2026-11-29T12:00:00.000Z'],
  ['30m', '2026-11-30T11:30:00.000Z'],
  ['2026-11-01', '2026-11-01T00:00:00.000Z'],
  ['today', '2026-11-30T00:00:00.000Z'],
  ['yesterday', '2026-11-29T00:00:00.000Z'],
  ['2026-11-01T08:00:00+01:00', '2026-11-01T08:00:00+01:00'],
])('%s is %s', (text, expected) => {
  expect(time(text)).toBe(expected);
});

it.each([
  ['2026-07-01', 'Europe/Berlin', '2026-06-30T22:00:00.000Z'],
  ['2026-12-01', 'Europe/Berlin', '2026-11-30T23:00:00.000Z'],
  ['2026-07-01', 'Pacific/Kiritimati', '2026-06-30T10:00:00.000Z'],
  ['2026-07-01', 'Pacific/Pago_Pago', '2026-07-01T11:00:00.000Z'],
  ['today', 'Pacific/Kiritimati', '2026-11-30T10:00:00.000Z'],
  ['yesterday', 'Pacific/Kiritimati', '2026-11-29T10:00:00.000Z'],
  // Its clocks skipped the hour after midnight.
  ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z'],
])('%s begins in %s at %s', (text, timezone, expected) => {
  expect(time(text, { timezone })).toBe(expected);
});

it('a period of the future is counted from now', () => {
  expect(time('90d', { direction: 'future' })).toBe('2027-02-28T12:00:00.000Z');
});

it.each(['tomorrow', '7', '7y', '2026-02-30', '2026-13-01', '01.11.2026', ''])('%j is refused', (text) => {
  expect(() => time(text)).toThrow('--from');
});

it('an unknown time zone is refused', () => {
  expect(() => time('2026-11-01', { timezone: 'Europe/Berlim' })).toThrow(
    'There is no time zone Europe/Berlim',
  );
});
