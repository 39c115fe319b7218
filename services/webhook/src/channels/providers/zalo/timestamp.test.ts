import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { timestampOf } from './timestamp.ts';
import { zalo } from './zalo.ts';

const of = (json: string): string => timestampOf(Buffer.from(json));

describe('the time of an event', () => {
  it.each([
    ['{"timestamp":"1700000000000"}', '1700000000000'],
    ['{"timestamp":1700000000000}', '1700000000000'],
    [' {\n"a" : [1, {"timestamp": "1"}],\t"timestamp" :\r\n "17" , "b": {"timestamp": "2"}} ', '17'],
    ['{"timestamp":"1","timestamp":"2"}', '2'],
    ['{"message":{"text":"\\"timestamp\\":\\"1\\""},"timestamp":"17"}', '17'],
    ['{"text":"\\\\","timestamp":"17"}', '17'],
    ['{"a":"timestamp","b":"1"}', ''],
    ['{"timestamp":"1","timestamp":null}', ''],
    ['{"timestamp":"now"}', ''],
    ['{"timestamp":"12345678901234567"}', ''],
    ['{"timestamp":-1}', ''],
    ['{"timestamp":1.5}', ''],
    ['{"timestamp":1e3}', ''],
    ['{"timestamp":["1"]}', ''],
    ['{"timestamps":"1","Timestamp":"1"}', ''],
    ['[{"timestamp":"1"}]', ''],
    ['{"timestamp"', ''],
    ['{"timestamp":', ''],
    ['{"timestamp":"17', ''],
    ['{"timestamp', ''],
    ['"timestamp":"1"', ''],
    ['', ''],
  ])('of %j is %j', (json, expected) => {
    expect(of(json)).toBe(expected);
  });

  it('is that of the parsed event, whatever is in it', () => {
    const timestamp = fc.oneof(fc.nat().map(String), fc.nat());
    const event = fc.record(
      {
        event_name: fc.string(),
        sender: fc.dictionary(fc.constantFrom('id', 'timestamp'), fc.string()),
        message: fc.jsonValue({ maxDepth: 4 }),
        timestamp,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(event, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        expect(of(JSON.stringify(value, null, space))).toBe(String(value.timestamp ?? ''));
      }),
    );
  });
});

const K = 256 * 1_024;
it.each<[string, string]>([
  ['brackets that close', '['.repeat(K / 2) + ']'.repeat(K / 2)],
  ['brackets that do not', '['.repeat(K)],
  ['objects in one another', `${'{"a":'.repeat(K / 6)}0${'}'.repeat(K / 6)}`],
  ['names', `{${Array.from({ length: 26_000 }, (_, n) => `"${n.toString(36)}":0`).join(',')}}`],
  ['times', `{${Array(14_000).fill('"timestamp":"17"').join(',')}}`],
  ['escapes', `{"${'\\"'.repeat(K / 2 - 4)}":0}`],
  ['quotes', '"'.repeat(K)],
])('a forged event of many %s is refused at once', (_what, body) => {
  const { verify } = zalo({ ZALO_API_URL: 'https://zalo.test', ZALO_OAUTH_URL: 'https://oauth.test' });
  const channel = {
    ...{ id: 'c', accessToken: null, previousCredentials: null, config: { app_id: '1', oa_id: '2' } },
    credentials: { app_secret: 'app-secret', oa_secret: 'oa-secret' },
  };
  const start = performance.now();
  expect(verify({ header: () => ['mac='], body: Buffer.from(body) }, channel, Date.now() / 1_000)).toBe(
    false,
  );
  expect(performance.now() - start).toBeLessThan(1_000);
});
