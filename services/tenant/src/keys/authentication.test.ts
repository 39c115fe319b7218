import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { endOf, judge, type KeyHashes } from './authentication.ts';

const hash = (text: string) => createHash('sha256').update(text).digest();

const key: KeyHashes = {
  secretSha256: hash('new'),
  previousSecretSha256: hash('old'),
  previousValidUntil: new Date('2030-01-02'),
  expiresAt: null,
  revoked: false,
  expired: false,
};

describe('judging a presented secret', () => {
  it('accepts the current secret, and the previous one while there is one', () => {
    expect(judge(key, hash('new'))).toBe('accepted');
    expect(judge(key, hash('old'))).toBe('accepted');
    expect(judge({ ...key, previousSecretSha256: null }, hash('old'))).toBe('unknown');
  });

  it('rejects every secret where there is no key', () => {
    for (const secret of [hash('new'), Buffer.alloc(0), Buffer.alloc(32), Buffer.alloc(33)]) {
      expect(judge(null, secret)).toBe('unknown');
    }
  });

  it('shows that a key is revoked or expired only for its secret, and revoked before expired', () => {
    const ended = { ...key, revoked: true, expired: true };
    expect(judge(ended, hash('new'))).toBe('revoked');
    expect(judge({ ...ended, revoked: false }, hash('old'))).toBe('expired');
    expect(judge(ended, hash('guess'))).toBe('unknown');
  });

  it('refuses hashes of another length', () => {
    for (const length of [0, 31, 33, 64]) {
      expect(judge(key, Buffer.alloc(length))).toBe('unknown');
    }
  });
});

describe('the end of an accepted secret', () => {
  it('is that of the key, and of the overlap for the previous one if that is earlier', () => {
    const at = (day: string): Date => new Date(`2030-01-${day}`);
    expect(endOf(key, hash('new'))).toBeNull();
    expect(endOf(key, hash('old'))).toEqual(at('02'));
    expect(endOf({ ...key, expiresAt: at('03') }, hash('new'))).toEqual(at('03'));
    expect(endOf({ ...key, expiresAt: at('03') }, hash('old'))).toEqual(at('02'));
    expect(endOf({ ...key, expiresAt: at('01') }, hash('old'))).toEqual(at('01'));
  });
});
