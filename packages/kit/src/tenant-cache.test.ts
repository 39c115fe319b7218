import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TenantCache } from './tenant-cache.ts';

const MiB = 1024 * 1024;
const bytesOf = (value: string): number => value.length;
const text = (mebibytes: number): string => 'x'.repeat(mebibytes * MiB - 10_000);
const cacheOf = (maxBytes: number, maxBytesPerTenant: number): TenantCache<string> =>
  new TenantCache({ maxBytes: maxBytes * MiB, maxBytesPerTenant: maxBytesPerTenant * MiB, bytesOf });

it('removes what a tenant beyond its part has not used for the longest time, and nothing of others', () => {
  const cache = cacheOf(10, 3);
  cache.set('b', 'old', text(1));
  for (const key of ['1', '2', '3']) cache.set('a', key, text(1));
  expect(cache.get('a', '1')).toBeDefined();
  cache.set('a', '4', text(1));
  expect(['1', '2', '3', '4'].filter((key) => cache.get('a', key) !== undefined)).toEqual(['1', '3', '4']);
  expect(cache.get('b', 'old')).toBeDefined();
  expect(cache.get('a', 'old')).toBeUndefined();
});

it('lets the tenant with the most bytes make room', () => {
  const cache = cacheOf(4, 3);
  cache.set('small', 'first', text(1));
  for (const key of ['1', '2', '3']) cache.set('large', key, text(1));
  cache.set('new', 'first', text(1));
  expect(cache.get('small', 'first')).toBeDefined();
  expect(cache.get('large', '1')).toBeUndefined();
  expect(cache.get('large', '2')).toBeDefined();
});

it('keeps nothing that is larger than the part of a tenant, and forgets what it replaces', () => {
  const cache = cacheOf(4, 2);
  cache.set('a', 'key', text(1));
  cache.set('a', 'key', text(3));
  expect(cache.get('a', 'key')).toBeUndefined();
  expect(cache.bytes).toBe(0);
});

it('never holds more than its limits, whatever is set and read', () => {
  const [maxBytes, maxBytesPerTenant] = [20_000, 8_000];
  const tenant = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.tuple(tenant, fc.constantFrom('1', '2', '3', '4'), fc.nat(9_000), fc.boolean());
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = new TenantCache<string>({ maxBytes, maxBytesPerTenant, bytesOf });
      for (const [tenantId, key, size, reads] of steps) {
        if (reads) cache.get(tenantId, key);
        else cache.set(tenantId, key, 'x'.repeat(size));
        const found = ['a', 'b', 'c', 'd'].map((each) =>
          ['1', '2', '3', '4'].reduce((sum, name) => sum + (cache.get(each, name)?.length ?? 0), 0),
        );
        expect(Math.max(...found)).toBeLessThanOrEqual(maxBytesPerTenant);
        expect(cache.bytes).toBeLessThanOrEqual(maxBytes);
        expect(found.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(cache.bytes);
        if (!reads && size < 7_000) expect(cache.get(tenantId, key)).toHaveLength(size);
      }
    }),
  );
});
