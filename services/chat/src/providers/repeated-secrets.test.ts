import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ProviderFailure } from './provider-failure.ts';
import { bytesWithoutSecrets, secretsIn, streamWithoutSecrets, withoutSecrets } from './repeated-secrets.ts';

describe('secrets of a call', () => {
  it('are the values of the headers that prove it', () => {
    expect(
      secretsIn({
        ...{ authorization: 'Bearer sk-1234567890', 'x-api-key': 'key-1234567890', 'api-key': 'short' },
        ...{ 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
      }),
    ).toEqual(['sk-1234567890', 'key-1234567890']);
  });

  it('are taken from texts, also as JSON of any writer has them', () => {
    const secrets = ['sk/1234+67890', 'a"b\\c1234'];
    const texts = [
      'no sk/1234+67890 here',
      String.raw`{"key":"sk\/1234+67890"}`,
      JSON.stringify({ key: secrets[1] }),
      String.raw`{"a":"\n","key":"sk/1234\u002B67890"}`,
    ];
    expect(texts.map((text) => withoutSecrets(text, secrets))).toEqual([
      'no [key] here',
      '{"key":"[key]"}',
      '{"key":"[key]"}',
      String.raw`{"a":"\n","key":"[key]"}`,
    ]);
  });

  it('are in no part of a failure, which otherwise stays as it is', () => {
    const body = Buffer.from('{"error":{"message":"bad sk-1234567890"}}');
    const details = { status: 400, message: 'bad sk-1234567890', code: 'c-sk-1234567890', param: 'p', body };
    const failure = new ProviderFailure('status', 'openai', details);
    const clean = failure.without(['sk-1234567890']);
    expect(clean.details).toMatchObject({ status: 400, message: 'bad [key]', code: 'c-[key]', param: 'p' });
    expect(clean.details.body?.toString()).toBe('{"error":{"message":"bad [key]"}}');
    expect(failure.without(['sk-other-key'])).toBe(failure);
  });

  it('are taken from a stream as from the whole, however it is cut', async () => {
    const secret = 'aab/aabc';
    const parts = fc.constantFrom(
      secret,
      'aab',
      'a',
      'c',
      '\\',
      '/',
      String.raw`\/`,
      String.raw`\u0061`,
      'é',
    );
    const property = fc.asyncProperty(
      fc.array(parts, { maxLength: 40 }),
      fc.array(fc.nat(9)),
      async (texts, cuts) => {
        const whole = Buffer.from(texts.join(''));
        let at = 0;
        const pieces = cuts.map((length) => whole.subarray(at, (at += length)));
        const body = Readable.from([...pieces, whole.subarray(at)], { objectMode: false });
        const clean = Buffer.concat(await streamWithoutSecrets(body, [secret]).toArray());
        expect(clean.toString()).toBe(bytesWithoutSecrets(whole, [secret]).toString());
      },
    );
    await fc.assert(property, { numRuns: 500 });
  });

  it('leave other bytes of a stream as they are, and its error to the reader', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xc3, 0x0a, 0xfe]);
    const copied = streamWithoutSecrets(Readable.from([bytes]), ['sk-1234567890']);
    expect(Buffer.concat(await copied.toArray())).toEqual(bytes);
    const broken = Readable.from([bytes, Promise.reject(new Error('broken'))]);
    await expect(streamWithoutSecrets(broken, ['sk-1234567890']).toArray()).rejects.toThrow('broken');
    const left = new Readable({ read: () => undefined });
    streamWithoutSecrets(left, ['sk-1234567890']).destroy();
    await expect(left.toArray()).rejects.toThrow();
    expect(left.destroyed).toBe(true);
  });
});
