import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { KeyRing } from './key-ring.ts';

const key = (fill?: number): string =>
  (fill === undefined ? randomBytes(32) : Buffer.alloc(32, fill)).toString('base64');

const ring = KeyRing.parse(`k1:${key(1)}`);
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));

describe('a sealed value', () => {
  it('opens to what was sealed, in the same context', () => {
    fc.assert(
      fc.property(bytes, fc.string({ unit: 'binary' }), (plain, context) => {
        expect(ring.open(ring.seal(plain, context), context)).toEqual(plain);
      }),
    );
  });

  it('opens to all parts that were sealed as one, of any size', () => {
    const parts = [Buffer.from('a'), randomBytes(600_000), Buffer.alloc(0), randomBytes(300_000)];
    expect(ring.open(ring.sealParts(parts, 'c'), 'c').equals(Buffer.concat(parts))).toBe(true);
  });

  it('does not open in another context', () => {
    const contexts = fc.tuple(fc.string(), fc.string()).filter(([a, b]) => a !== b);
    fc.assert(
      fc.property(bytes, contexts, (plain, [own, foreign]) => {
        const sealed = ring.seal(plain, own);
        expect(() => ring.open(sealed, foreign)).toThrow();
      }),
    );
  });

  it('does not open when any single bit of it was changed', () => {
    const sealed = ring.seal(Buffer.from('secret'), 'c');
    for (let at = 0; at < sealed.length; at += 1) {
      for (const bit of [1, 128]) {
        const changed = Buffer.from(sealed);
        changed[at] = (changed[at] ?? 0) ^ bit;
        expect(() => ring.open(changed, 'c')).toThrow();
      }
    }
  });

  it('does not open when it was cut short, continued, or is something else', () => {
    const sealed = ring.seal(Buffer.from('secret'), 'c');
    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => ring.open(sealed.subarray(0, length), 'c')).toThrow();
    }
    expect(() => ring.open(Buffer.concat([sealed, Buffer.from([0])]), 'c')).toThrow();
    fc.assert(fc.property(bytes, (other) => expect(() => ring.open(other, 'c')).toThrow()));
  });

  it('does not open with parts of another one', () => {
    const [one, two] = [ring.seal(Buffer.from('one'), 'c'), ring.seal(Buffer.from('two'), 'c')];
    const bodyAt = 2 + 2 + 12 + 32 + 16;
    const mixed = Buffer.concat([one.subarray(0, bodyAt), two.subarray(bodyAt)]);
    expect(() => ring.open(mixed, 'c')).toThrow();
  });

  it('never looks the same twice, and shows nothing of its content', () => {
    const plain = Buffer.from('gwk_very_secret_token');
    const sealed = Array.from({ length: 50 }, () => ring.seal(plain, 'c'));
    expect(new Set(sealed.map((value) => value.toString('hex'))).size).toBe(50);
    for (const value of sealed) expect(value.includes('secret')).toBe(false);
  });
});

describe('rotation', () => {
  const [old, recent] = [key(1), key(2)];
  const before = KeyRing.parse(`k1:${old}`);
  const during = KeyRing.parse(` k2:${recent} , k1:${old} `);
  const after = KeyRing.parse(`k2:${recent}`);

  it('seals with the first key and opens with all', () => {
    const [early, late] = [before.seal(Buffer.from('x'), 'c'), during.seal(Buffer.from('y'), 'c')];
    expect([during.open(early, 'c').toString(), during.open(late, 'c').toString()]).toEqual(['x', 'y']);
    expect(after.open(late, 'c').toString()).toBe('y');
    expect(() => after.open(early, 'c')).toThrow('no key k1');
    expect(() => before.open(late, 'c')).toThrow('no key k2');
  });

  it('does not take a key for another of the same name', () => {
    const impostor = KeyRing.parse(`k1:${recent}`);
    expect(() => impostor.open(before.seal(Buffer.from('x'), 'c'), 'c')).toThrow();
  });
});

describe('hashes', () => {
  const [old, recent] = [key(1), key(2)];
  const before = KeyRing.parse(`k1:${old}`);
  const during = KeyRing.parse(`k2:${recent},k1:${old}`);

  it('are the same for the same text in the same context only', () => {
    const different = fc.tuple(fc.string(), fc.string()).filter(([a, b]) => a !== b);
    fc.assert(
      fc.property(different, fc.string(), ([one, other], same) => {
        expect(ring.hashes(one, same)).toEqual(ring.hashes(one, same));
        expect(ring.hashes(one, same)).not.toEqual(ring.hashes(other, same));
        expect(ring.hashes(same, one)).not.toEqual(ring.hashes(same, other));
      }),
    );
  });

  it('follow a rotation: the new key first, and those of older keys as they were', () => {
    expect(before.hashes('ann', 'c')).toEqual([expect.stringMatching(/^k1:[\w-]{43}$/)]);
    expect(during.hashes('ann', 'c')).toEqual([
      expect.stringMatching(/^k2:[\w-]{43}$/),
      ...before.hashes('ann', 'c'),
    ]);
  });

  it('of another key are others', () => {
    const other = KeyRing.parse(`k1:${recent}`);
    expect(other.hashes('ann', 'c')).not.toEqual(before.hashes('ann', 'c'));
  });
});

describe('a key ring', () => {
  const secret = 'S3cr3t'.repeat(6);
  it.each([
    ['nothing', ''],
    ['blanks', ' , '],
    ['a key without an id', key(7)],
    ['an empty id', `:${key(7)}`],
    ['an id with spaces', `a b:${key(7)}`],
    ['an id too long', `${'x'.repeat(33)}:${key(7)}`],
    ['no key', 'k1'],
    ['an empty key', 'k1:'],
    ['a short key', `k1:${secret}`],
    ['a key in hexadecimal', `k1:${'ab'.repeat(32)}`],
    ['a key with characters that are no base64', `k1:${key(7).slice(0, 20)}!${key(7).slice(20)}`],
    ['a key with something behind it', `k1:${key(7)}:more`],
    ['a key twice', `k1:${key(7)},k1:${key(8)}`],
    ['a good key and a bad one', `k1:${key(7)},k2:${secret}`],
  ])('of %s is refused without a word of the key', (_name, text) => {
    expect(() => KeyRing.parse(text)).toThrow();
    try {
      KeyRing.parse(text);
    } catch (error) {
      const shown = `${String(error)} ${String((error as Error).stack)}`;
      for (const piece of [key(7).slice(0, 12), 'S3cr3t', 'abababab']) expect(shown).not.toContain(piece);
    }
  });

  it('takes URL-safe and unpadded base64 too', () => {
    const raw = Buffer.alloc(32, 0xfb);
    const sealed = KeyRing.parse(`k:${raw.toString('base64')}`).seal(Buffer.from('x'), 'c');
    for (const text of [raw.toString('base64url'), raw.toString('base64').replace('=', '')]) {
      expect(KeyRing.parse(`k:${text}`).open(sealed, 'c').toString()).toBe('x');
    }
  });
});
