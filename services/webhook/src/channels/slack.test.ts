import { expect, it } from '@jest/globals';
import { slack } from './slack.ts';

const { parse } = slack('https://slack.test');

/** The text that the agent gets for that of an event. */
function read(text: string): string | null {
  const event = { type: 'message', user: 'U1', channel: 'D1', ts: '1700000001.000200', text };
  const authorizations = [{ user_id: 'UBOT' }];
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
