import { describe, expect, it } from '@jest/globals';
import { isUuid, newId, randomBase62 } from './ids.ts';
import { pooledRandom } from './random.ts';

describe('ids', () => {
  it('are UUIDv7 in the order they were made, and never repeat', () => {
    const ids = Array.from({ length: 5_000 }, () => newId());
    expect(
      ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
    ).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
    const times = ids.map((id) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(Math.abs((times[0] ?? 0) - Date.now())).toBeLessThan(5_000);
  });

  it('are distinguished from other text', () => {
    expect(isUuid(newId())).toBe(true);
    expect(isUuid(newId().toUpperCase())).toBe(true);
    for (const text of [
      '',
      'x',
      `${newId()}\n`,
      ` ${newId()}`,
      `{${newId()}}`,
      newId().replaceAll('-', ''),
    ]) {
      expect(isUuid(text)).toBe(false);
    }
  });

  it('of keys use each of the 62 characters about equally often', () => {
    const counts = new Map<string, number>();
    for (const character of randomBase62(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1);
    expect([...counts.keys()].sort().join('')).toBe(
      '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
    );
    // 1,000 expected of each; five standard deviations are 158. Taking bytes modulo 62 would favour eight of them by a quarter.
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(200);
    for (const length of [0, 1, 16]) expect(randomBase62(length)).toHaveLength(length);
  });
});

it('pooled random bytes are as many as asked for and never given out twice', () => {
  const seen = new Set<string>();
  for (let round = 0; round < 5_000; round += 1) {
    const bytes = pooledRandom(16);
    expect(bytes).toHaveLength(16);
    seen.add(bytes.toString('hex'));
  }
  expect(seen.size).toBe(5_000);
});
