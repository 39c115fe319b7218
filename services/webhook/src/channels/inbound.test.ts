import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { ChannelType } from '@gatehouse/contract/channel-instances';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import fc from 'fast-check';
import { Hops } from '../deliveries/hops.ts';
import type { InboundMessage } from './adapter.ts';
import { adapterOf, channelAdapters } from './adapters.ts';

const urls = {
  TELEGRAM_API_URL: 'http://t.example',
  SLACK_API_URL: 'http://s.example',
  ZALO_API_URL: 'http://z.example',
  ZALO_OAUTH_URL: 'http://o.example',
};
const hops = new Hops(KeyRing.parse(`a:${randomBytes(32).toString('base64')}`));
const adapters = channelAdapters(urls, hops);
const parse = (type: ChannelType, body: unknown) => adapterOf(adapters, type).parse(body);
const kindOf = (type: ChannelType, body: unknown) => parse(type, body).kind;
const messageOf = (type: ChannelType, body: unknown): InboundMessage => {
  const inbound = parse(type, body);
  if (inbound.kind !== 'message') throw new Error(`is ${inbound.kind}`);
  return inbound.message;
};

const ann = { id: 42, is_bot: false, first_name: 'Ann' };
const group = { id: -100_500, type: 'supergroup', title: 'Ops' };
/** A channel, and the bot in whose name Telegram sends what people write as a channel. */
const news = { id: -100_900, type: 'channel', title: 'News' };
const channelBot = { id: 136_817_688, is_bot: true, first_name: 'Channel', username: 'Channel_Bot' };
const update = (message: unknown) => ({ update_id: 7, message });
const said = (fields: object) =>
  update({ message_id: 1, date: 1, from: ann, chat: group, text: 'x', ...fields });
const callback = (event: unknown, envelope: object = {}) => ({
  ...{ type: 'event_callback', event_id: 'Ev1', event, authorizations: [{ user_id: 'UBOT' }], ...envelope },
});
const slackSaid = { type: 'message', user: 'U1', channel: 'C1', ts: '1700000000.000100', text: 'x' };
const zaloSaid = (fields: object) => ({
  ...{ app_id: '7', timestamp: '1700000000000', sender: { id: '246' }, recipient: { id: '555' } },
  ...{ event_name: 'user_send_text', message: { msg_id: 'm1', text: 'x' }, ...fields },
});

describe('an event that is no message is ignored', () => {
  it.each<[string, unknown]>([
    ['an edit', { update_id: 7, edited_message: { text: 'x' } }],
    ['a post of a channel', { update_id: 7, channel_post: { text: 'x' } }],
    ['a membership', { update_id: 7, my_chat_member: { chat: group, from: ann, new_chat_member: {} } }],
    ['a reaction', { update_id: 7, message_reaction: { chat: group, old_reaction: [], new_reaction: [] } }],
    ['a kind that does not exist yet', { update_id: 7, telepathy: [{ thought: null }] }],
    ['none at all', { update_id: 7 }],
    ['a message that is null', update(null)],
    ['a message that is a text', update('x')],
    ['a message without a chat', update({ from: ann, text: 'x' })],
    ['a service message', said({ text: undefined, new_chat_members: [ann] })],
    ['a message of a bot', said({ from: { id: 4242, is_bot: true, first_name: 'Other' } })],
    ['a message without a sender', said({ from: undefined })],
    [
      'a post that was forwarded from the linked channel',
      said({
        ...{ from: { id: 777_000, is_bot: false, first_name: 'Telegram' }, is_automatic_forward: true },
        ...{ sender_chat: news },
      }),
    ],
    [
      'the same without its mark',
      said({ from: { id: 777_000, is_bot: false, first_name: 'Telegram' }, sender_chat: news }),
    ],
    [
      'a post that was forwarded in the name of the bot of channels',
      said({ from: channelBot, sender_chat: news, is_automatic_forward: true }),
    ],
    ['a message of that bot without a channel', said({ from: channelBot })],
    [
      'a message of another bot with a channel',
      said({ from: { id: 4242, is_bot: true, first_name: 'Other' }, sender_chat: news }),
    ],
  ])('of Telegram: %s', (_what, body) => {
    expect(kindOf('telegram', body)).toBe('ignored');
  });

  it.each<[string, unknown]>([
    ['team_join', callback({ type: 'team_join', user: { id: 'U9', profile: {} } })],
    ['channel_created', callback({ type: 'channel_created', channel: { id: 'C9', name: 'x', created: 1 } })],
    ['im_created', callback({ type: 'im_created', user: 'U1', channel: { id: 'D9' } })],
    ['channel_deleted', callback({ type: 'channel_deleted', channel: 'C9' })],
    ['emoji_changed', callback({ type: 'emoji_changed', subtype: 'remove', names: ['x'], event_ts: 1 })],
    ['reaction_added', callback({ type: 'reaction_added', user: 'U1', item: { channel: 'C1', ts: 7 } })],
    ['an edit', callback({ ...slackSaid, subtype: 'message_changed', message: {}, user: undefined })],
    ['a message without a time', callback({ ...slackSaid, ts: 7 })],
    ['a message of nobody', callback({ ...slackSaid, user: null })],
    ['no event', callback(undefined)],
    ['an event that is null', callback(null)],
    ['an event without a type', callback({ user: 'U1' })],
    ['app_rate_limited', { type: 'app_rate_limited', team_id: 'T1', minute_rate_limited: 1 }],
    ['an outer type that does not exist yet', { type: 'telepathy', event: 7 }],
  ])('of Slack: %s', (_what, body) => {
    expect(kindOf('slack', body)).toBe('ignored');
  });

  it.each<[string, object]>([
    ['user_seen_message', { event_name: 'user_seen_message', message: { msg_ids: ['a', 'b'] } }],
    ['user_received_message', { event_name: 'user_received_message', message: { msg_id: 'a' } }],
    ['oa_send_text', { event_name: 'oa_send_text', sender: { id: '555', admin_id: '5' } }],
    ['follow', { event_name: 'follow', sender: undefined, recipient: undefined, follower: { id: '246' } }],
    ['user_submit_info', { event_name: 'user_submit_info', message: undefined, info: { phone: 84 } }],
    ['shop_has_order', { event_name: 'shop_has_order', order: {}, sender: null, recipient: 7 }],
    ['a message in a group', { event_name: 'user_send_group_text' }],
    ['a name that does not exist yet', { event_name: `user_${'x'.repeat(100)}`, message: [] }],
    ['a text that is none', { message: { msg_id: 'a', text: null } }],
  ])('of Zalo: %s', (_what, fields) => {
    expect(kindOf('zalo_oa', zaloSaid(fields))).toBe('ignored');
  });

  it.each<[string, object]>([
    ['a Standard Webhook about something else', { type: 'user.typing', timestamp: 'x', data: {} }],
    [
      'a reaction',
      { type: 'reaction', message_id: 'm', conversation_id: 'c', user: { id: 'u' }, text: null },
    ],
  ])('of a system of its own: %s', (_what, body) => {
    expect(kindOf('generic', body)).toBe('ignored');
  });

  const json = fc.jsonValue({ maxDepth: 4 });
  const mixed = (names: readonly string[]) =>
    fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), json);
  const telegramNames = [
    'from',
    'chat',
    'sender_chat',
    'text',
    'caption',
    'photo',
    'reply_to_message',
    'quote',
    'external_reply',
    'forward_origin',
    'migrate_to_chat_id',
    'id',
  ];
  const slackNames = [
    'user',
    'channel',
    'ts',
    'thread_ts',
    'subtype',
    'bot_id',
    'files',
    'attachments',
    'text',
  ];
  const zaloNames = ['sender', 'recipient', 'message', 'timestamp'];
  it.each<[ChannelType, fc.Arbitrary<unknown>]>([
    [
      'telegram',
      fc
        .tuple(mixed(telegramNames), mixed(['message']))
        .map(([m, u]) => ({ message: m, ...u, update_id: 1 })),
    ],
    ['telegram', mixed(telegramNames).map((message) => said(message))],
    ['slack', fc.tuple(json, json).map(([event, authorizations]) => callback(event, { authorizations }))],
    ['slack', mixed(slackNames).map((fields) => callback({ ...slackSaid, ...fields }))],
    ['zalo_oa', mixed(zaloNames).map((fields) => zaloSaid({ ...fields, event_name: 'user_send_link' }))],
  ])('of %s, whatever it has: nothing is refused', (type, bodies) => {
    fc.assert(fc.property(bodies, (body) => ['message', 'ignored', 'moved'].includes(kindOf(type, body))));
  });
});

it.each<[ChannelType, unknown, string | null]>([
  ['telegram', [], null],
  ['telegram', {}, 'update_id'],
  ['slack', 'x', null],
  ['slack', { event: {} }, 'type'],
  ['zalo_oa', null, null],
  ['zalo_oa', { message: {} }, 'event_name'],
  ['generic', {}, 'message_id'],
  ['generic', { message_id: 'm', conversation_id: 'c', user: { id: 'u' } }, 'text'],
  ['generic', { type: 'message', message_id: 'm', user: { id: 'u' }, text: 'x' }, 'conversation_id'],
])('what is no event of %s at all is refused with the member: %j', (type, body, param) => {
  expect(() => parse(type, body)).toThrow(expect.objectContaining({ status: 400, param }));
});

describe('a message is read', () => {
  it.each<[ChannelType, unknown]>([
    ['telegram', said({ entities: 'x', reply_to_message: null, is_topic_message: null, via_bot: 7 })],
    ['telegram', said({ from: { ...ann, first_name: null, language_code: 7 }, caption: 7 })],
    ['slack', callback({ ...slackSaid, files: null, thread_ts: null, subtype: null, blocks: 7 })],
    ['slack', callback(slackSaid, { event_id: null, authorizations: null })],
    ['zalo_oa', zaloSaid({ user_id_by_app: null, timestamp: 1_700_000_000_000 })],
  ])('of %s with members of other kinds beside it', (type, body) => {
    expect(messageOf(type, body)).toMatchObject({ text: 'x', hasAttachment: false });
  });

  it('of Slack is known by its place where the event has no id', () => {
    expect(messageOf('slack', callback(slackSaid, { event_id: undefined }))).toMatchObject({
      ...{ externalId: 'C1:1700000000.000100', keys: ['C1:1700000000.000100'] },
    });
  });

  const anonymous = { id: 1_087_968_824, is_bot: true, first_name: 'Group', username: 'GroupAnonymousBot' };
  it.each<[string, object, string | null]>([
    ['as the group', {}, 'Ops'],
    ['with a title', { author_signature: 'Chief' }, 'Chief'],
    ['in an Update without the bot', { from: undefined }, 'Ops'],
  ])('of an administrator of a group of Telegram who stays anonymous, %s', (_how, fields, name) => {
    const body = said({ from: anonymous, sender_chat: group, ...fields });
    expect(messageOf('telegram', body).sender).toEqual({ id: '-100500', name });
  });

  it.each<[string, object]>([
    ['as Telegram sends it', { from: channelBot }],
    ['with a signature', { from: channelBot, author_signature: 'Chief' }],
    ['without a bot', { from: undefined }],
  ])('of a person of Telegram who writes as a channel, %s: by the channel', (_how, fields) => {
    const body = said({ sender_chat: news, ...fields });
    expect(messageOf('telegram', body).sender).toEqual({ id: '-100900', name: 'News' });
  });

  it('of a person who is no bot by the person, also where the group is another sender', () => {
    const body = said({ sender_chat: { id: -1, title: 'Other' } });
    expect(messageOf('telegram', body).sender).toEqual({ id: '42', name: 'Ann' });
  });
});

it('a group of Telegram that becomes a supergroup moves, by the news in either', () => {
  const moved = { kind: 'moved', from: '-5201', to: '-1005201' };
  const chat = { id: -5_201, type: 'group', title: 'Ops' };
  expect(parse('telegram', said({ chat, text: undefined, migrate_to_chat_id: -1_005_201 }))).toEqual(moved);
  const next = { id: -1_005_201, type: 'supergroup', title: 'Ops' };
  const news = { from: undefined, chat: next, text: undefined, migrate_from_chat_id: -5_201 };
  expect(parse('telegram', said(news))).toEqual(moved);
});
