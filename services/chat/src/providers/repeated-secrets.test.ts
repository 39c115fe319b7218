import { describe, expect, it } from '@jest/globals';
import { ProviderFailure } from './provider-failure.ts';
import { secretsIn, withoutSecrets } from './repeated-secrets.ts';

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
});
