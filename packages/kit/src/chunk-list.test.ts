import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ChunkList } from './chunk-list.ts';

const size = fc.oneof(fc.nat(10), fc.nat(5_000), fc.nat(70_000));

it('returns the chunks joined in their order, of whatever sizes they were', () => {
  fc.assert(
    fc.property(fc.array(size, { maxLength: 60 }), (sizes) => {
      const chunks = sizes.map((length, index) => Buffer.alloc(length, index));
      const list = new ChunkList();
      for (const chunk of chunks) list.push(chunk);
      const whole = Buffer.concat(chunks);
      expect(list.size).toBe(whole.length);
      expect(list.concat().equals(whole)).toBe(true);
    }),
  );
});

it('returns a body of one chunk without a copy', () => {
  const chunk = Buffer.from('{}');
  const list = new ChunkList();
  list.push(chunk);
  expect(list.concat()).toBe(chunk);
});

it('merges a body that comes byte by byte into few buffers', () => {
  const list = new ChunkList();
  for (let sent = 0; sent < 200_000; sent += 1) list.push(Buffer.alloc(1));
  expect(list.concat()).toHaveLength(200_000);
  expect(list.parts).toBeLessThan(25);
});

it('has an announced body in memory once, whatever comes of it', () => {
  const bytes = 300 * 1024;
  const chunk = Buffer.alloc(64 * 1024, 'a');
  const whole = new ChunkList(bytes);
  whole.push(Buffer.alloc(0));
  for (let at = 0; at < bytes; at += chunk.length) whole.push(chunk.subarray(0, bytes - at));
  expect([whole.size, whole.parts]).toEqual([bytes, 0]);
  expect(whole.concat().equals(Buffer.alloc(bytes, 'a'))).toBe(true);
  const longer = new ChunkList(bytes);
  for (let count = 0; count < 6; count += 1) longer.push(chunk);
  longer.push(Buffer.from('b'));
  expect(longer.concat().equals(Buffer.concat([Buffer.alloc(6 * chunk.length, 'a'), Buffer.from('b')]))).toBe(
    true,
  );
  const shorter = new ChunkList(bytes);
  shorter.push(Buffer.from('ab'));
  expect(shorter.concat().toString()).toBe('ab');
});
