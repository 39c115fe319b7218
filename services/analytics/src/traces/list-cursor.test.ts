import { expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { decodeListCursor, encodeListCursor } from './list-cursor.ts';

const dayMs = 86_400_000;
const [from, to] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T00:00:00Z')];
const id = newId();
const codeOf = (key: string, sort?: 'cost' | 'duration', until = to): string => {
  try {
    decodeListCursor(encodeListCursor({ position: { key, id }, from, to: until }, {}), {}, sort);
    return 'accepted';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

it('comes back as the place that it was made of', () => {
  const place = { position: { key: '2026-01-01T10:00:00.123456Z', id }, from, to };
  expect(decodeListCursor(encodeListCursor(place, {}), {})).toEqual(place);
  expect(codeOf('9'.repeat(38), 'cost')).toBe('accepted');
  expect(codeOf('2147483647', 'duration')).toBe('accepted');
});

it('is refused with a key that its order does not have', () => {
  expect(codeOf('12')).toBe('invalid_cursor');
  expect(codeOf('2026-13-01T10:00:00.000000Z')).toBe('invalid_cursor');
  expect(codeOf('2026-02-30T10:00:00.000000Z')).toBe('invalid_cursor');
  expect(codeOf('2026-01-01T10:00:00.000000Z', 'cost')).toBe('invalid_cursor');
  expect(codeOf('2147483648', 'duration')).toBe('invalid_cursor');
});

it('is refused with a period longer than 400 days, or that ends before it begins', () => {
  expect(codeOf('2026-01-01T10:00:00.000000Z', undefined, new Date(from.getTime() + 400 * dayMs))).toBe(
    'accepted',
  );
  expect(codeOf('2026-01-01T10:00:00.000000Z', undefined, new Date(from.getTime() + 401 * dayMs))).toBe(
    'invalid_cursor',
  );
  expect(codeOf('2026-01-01T10:00:00.000000Z', undefined, from)).toBe('invalid_cursor');
  expect(codeOf('2026-01-01T10:00:00.000000Z', undefined, new Date(8.64e15))).toBe('invalid_cursor');
});
