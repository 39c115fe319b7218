import { expect, it } from '@jest/globals';
import { slack } from './slack.ts';

const { parse } = slack({ SLACK_API_URL: 'https://slack.test' });

/** The text that the agent gets for that of an event. */
function read(text: string, authorizations: unknown = [{ user_id: 'UBOT' }]): string | null {
  const event = { type: 'message', user: 'U1', channel: 'D1', ts: '1700000001.000200', text };
  const inbound = parse({ type: 'event_callback', event_id: 'e1', event, authorizations });
  return inbound.kind === 'message' ? inbound.message.text : null;
}

it.each([
  ['<@UBOT> hello', 'hello'],
  ['<@UBOT|bot> hello', 'hello'],
  ['<@U2|Ann> says 1 &lt; 2 &amp;amp; more', '<@U2|Ann> says 1 < 2 &amp; more'],
  ['<@UBOT|<@UBOT>', '<@UBOT|'],
])('reads %j without mentions of the bot', (text, expected) => {
  expect(read(text)).toBe(expected);
});

it('reads the longest texts at once, also of mentions that do not end', () => {
  const start = performance.now();
  expect(read('<@a|'.repeat(64 * 1_024))).toHaveLength(256 * 1_024);
  expect(performance.now() - start).toBeLessThan(500);
});

it('reads the mentions of any of the first bots that an event is for', () => {
  const bots = Array.from({ length: 10 }, (_, n) => ({ user_id: `UBOT${n}` }));
  expect(read('<@UBOT0> hello <@UBOT9>', bots)).toBe('hello');
  expect(read('<@UBOT0> hello', [null, 7, {}, ...bots])).toBe('hello');
});

const manyBots = Array.from({ length: 7_000 }, (_, n) => ({ user_id: n.toString(36) }));
it.each<[string, string, unknown]>([
  ['numbers', 'x', Array(120_000).fill(0)],
  ['objects without an id', 'x', Array(80_000).fill({})],
  ['bots, beside as many mentions', '<@Z>'.repeat(26_000), manyBots],
])('reads an event for very many %s at once', (_what, text, authorizations) => {
  const start = performance.now();
  expect(read(text, authorizations)).toBe(text);
  expect(performance.now() - start).toBeLessThan(100);
});
