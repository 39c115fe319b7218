import { expect, it } from '@jest/globals';
import type { InboundMessage } from '../adapter.ts';
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
  expect(performance.now() - start).toBeLessThan(1_000);
});

/** The message of an event with attachments. */
function message(fields: object): Pick<InboundMessage, 'text' | 'quoted' | 'hasAttachment'> | null {
  const event = { type: 'message', user: 'U1', channel: 'D1', ts: '1700000001.000200', text: '', ...fields };
  const inbound = parse({ type: 'event_callback', event_id: 'e1', event });
  if (inbound.kind !== 'message') return null;
  const { text, quoted, hasAttachment } = inbound.message;
  return { text, quoted, hasAttachment };
}
const shared = { is_share: true, is_msg_unfurl: true, author_name: 'Bo' };
const section = (...elements: object[]) => ({ type: 'rich_text_section', elements });
const richText = {
  type: 'rich_text',
  elements: [
    section(
      { type: 'text', text: 'Build of ' },
      { type: 'link', url: 'https://ci.example/7' },
      { type: 'emoji', name: 'fire' },
      { type: 'user', user_id: 'U2' },
    ),
    {
      type: 'rich_text_list',
      elements: [section({ type: 'text', text: 'a' }), section({ type: 'text', text: 'b' })],
    },
  ],
};
const richWords = 'Build of https://ci.example/7:fire:<@U2>\na\nb';

it.each<[string, object, InboundMessage['quoted']]>([
  ['its text', { ...shared, text: '1 &lt; 2' }, [{ kind: 'forward', by: 'Bo', text: '1 < 2' }]],
  [
    'its blocks',
    { ...shared, text: '', message_blocks: [{ team: 'T', message: { blocks: [richText] } }] },
    [{ kind: 'forward', by: 'Bo', text: richWords }],
  ],
  [
    'blocks of its own',
    {
      ...shared,
      blocks: [{ type: 'section', text: { type: 'mrkdwn', text: 'x' }, fields: [{ text: 'y' }] }],
    },
    [{ kind: 'forward', by: 'Bo', text: 'x\ny' }],
  ],
  [
    'its fallback',
    { ...shared, text: ' ', fallback: 'bo: x' },
    [{ kind: 'forward', by: 'Bo', text: 'bo: x' }],
  ],
  [
    'the id of its author',
    { is_share: true, author_id: 'U2', text: 'x' },
    [{ kind: 'forward', by: '@U2', text: 'x' }],
  ],
  ['no author', { is_msg_unfurl: true, text: 'x' }, [{ kind: 'forward', by: null, text: 'x' }]],
  [
    'a page',
    { title: 'T', text: 'x', from_url: 'https://a.example' },
    [{ kind: 'page', by: null, text: 'T\nx' }],
  ],
])('reads a shared message by %s, without a word beside it', (_what, attachment, quoted) => {
  expect(message({ attachments: [attachment] })).toEqual({ text: null, quoted, hasAttachment: false });
});

it('reads the files of a shared message as an attachment', () => {
  expect(message({ text: 'See', attachments: [{ ...shared, text: 'x', files: [{}] }] })).toEqual({
    text: 'See',
    quoted: [{ kind: 'forward', by: 'Bo', text: '(file)\nx' }],
    hasAttachment: true,
  });
});

it.each<[string, unknown]>([
  ['no list', 'x'],
  ['members of other kinds', [null, 7, [], {}, { text: 7, message_blocks: 7, blocks: [null, 7, [[]]] }]],
  ['no preview', [{ ...shared, fallback: '[no preview available]' }]],
])('ignores a message whose attachments have %s', (_what, attachments) => {
  expect(message({ attachments })).toBeNull();
  expect(message({ text: 'x', attachments })).toEqual({ text: 'x', quoted: [], hasAttachment: false });
});

it('reads the first attachments of very many, and of blocks as many as a message has', () => {
  const start = performance.now();
  const many = message({ attachments: Array(2_000).fill({ ...shared, text: 'x' }) });
  expect(many?.quoted).toHaveLength(10);
  let deep: object = { type: 'text', text: 'x' };
  for (let depth = 0; depth < 2_000; depth += 1) deep = { elements: [deep] };
  const wide = { elements: Array(100_000).fill({ text: 'x' }) };
  const blocks = message({ attachments: [{ ...shared, blocks: [deep, wide] }] });
  expect(blocks?.quoted[0]?.text.length).toBeLessThan(2_000);
  expect(performance.now() - start).toBeLessThan(500);
});
