import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isKeyId, keyPrefix, newKeyText, parseKeyText } from './key-text.ts';

const base62 = Array.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
const base64url = [...base62, '-', '_'];

const textOf = (alphabet: string[], length: number) =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: length, maxLength: length });

describe('key text', () => {
  it('comes back from a new key as the same id and hash', () => {
    for (let round = 0; round < 100; round += 1) {
      const key = newKeyText();
      expect(parseKeyText(key.text)).toEqual({ keyId: key.keyId, secretSha256: key.secretSha256 });
      expect(key.text).toMatch(/^gwk_[0-9A-Za-z]{16}_[0-9A-Za-z_-]{43}$/);
      expect(isKeyId(key.keyId)).toBe(true);
    }
  });

  it('never repeats an id or a secret', () => {
    const keys = Array.from({ length: 1_000 }, () => newKeyText());
    expect(new Set(keys.map((key) => key.keyId)).size).toBe(1_000);
    expect(new Set(keys.map((key) => key.secretSha256.toString('hex'))).size).toBe(1_000);
  });

  it('keeps the id of a key that gets a new secret', () => {
    const first = newKeyText();
    const second = newKeyText(first.keyId);
    expect(second.keyId).toBe(first.keyId);
    expect(second.text).not.toBe(first.text);
    expect(second.text.startsWith(`${keyPrefix(first.keyId)}_`)).toBe(true);
  });

  it('is split at its first two underscores, whatever the secret holds', () => {
    fc.assert(
      fc.property(textOf(base62, 16), textOf(base64url, 43), (keyId, secret) => {
        const secretSha256 = createHash('sha256').update(secret).digest();
        expect(parseKeyText(`gwk_${keyId}_${secret}`)).toEqual({ keyId, secretSha256 });
      }),
    );
    const secret = '_'.repeat(43);
    expect(parseKeyText(`gwk_0123456789abcdef_${secret}`)?.keyId).toBe('0123456789abcdef');
  });

  it('is refused when a single character is missing, added, or outside its alphabet', () => {
    const valid = `gwk_0123456789abcdef_${'a'.repeat(43)}`;
    expect(parseKeyText(valid)).not.toBeNull();
    for (let at = 0; at < valid.length; at += 1) {
      expect(parseKeyText(valid.slice(0, at) + valid.slice(at + 1))).toBeNull();
      expect(parseKeyText(`${valid.slice(0, at)} ${valid.slice(at + 1)}`)).toBeNull();
    }
    for (const wrong of [
      `${valid}a`,
      `${valid}\n`,
      ` ${valid}`,
      valid.toUpperCase(),
      `Bearer ${valid}`,
      '',
    ]) {
      expect(parseKeyText(wrong)).toBeNull();
    }
  });

  it('never throws and never finds a key in other text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(parseKeyText(text)).toBeNull();
        expect(parseKeyText(`gwk_${text}`)).toBeNull();
      }),
    );
  });
});
