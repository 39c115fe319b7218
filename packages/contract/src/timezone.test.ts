import { expect, it } from '@jest/globals';
import { isTimezone } from './timezone.ts';

it.each([
  'UTC',
  'GMT',
  'Europe/Berlin',
  'europe/berlin',
  'Asia/Calcutta',
  'America/Argentina/Buenos_Aires',
  'Etc/GMT+5',
])('%s is a time zone', (name) => {
  expect(isTimezone(name)).toBe(true);
});

it.each([
  '',
  '+05:30',
  '-03:00',
  '0530',
  'IST',
  'AET',
  'SST',
  'EST5EDT',
  'SystemV/EST5',
  'Mars/Base',
  'a/b',
  `x/${'y'.repeat(80)}`,
])('%j is none that means the same everywhere', (name) => {
  expect(isTimezone(name)).toBe(false);
});

it('every zone that JavaScript names is one', () => {
  const refused = Intl.supportedValuesOf('timeZone').filter((name) => !isTimezone(name));
  expect(refused).toEqual([]);
});
