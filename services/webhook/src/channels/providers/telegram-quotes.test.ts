import { expect, it } from '@jest/globals';
import type { InboundMessage } from '../adapter.ts';
import { readUpdate } from './telegram-update.ts';

const ann = { id: 42, is_bot: false, first_name: 'Ann' };
const bo = { id: 43, is_bot: false, first_name: 'Bo', last_name: 'Li' };
const bot = { id: 12, is_bot: true, first_name: 'Helper' };
const direct = { id: 42, type: 'private' };
const group = { id: -1, type: 'supergroup' };

function read(fields: object): Pick<InboundMessage, 'text' | 'quoted' | 'hasAttachment'> | null {
  const message = { message_id: 9, date: 1, from: ann, chat: direct, text: '?', ...fields };
  const inbound = readUpdate({ update_id: 1, message });
  if (inbound.kind !== 'message') return null;
  const { text, quoted, hasAttachment } = inbound.message;
  return { text, quoted, hasAttachment };
}
const photo = [{ file_id: 'x' }];

it.each<[string, object, InboundMessage['quoted']]>([
  ['nothing', {}, []],
  [
    'a message of a person',
    { reply_to_message: { from: bo, text: 'LH 454' } },
    [{ kind: 'reply', by: 'Bo Li', text: 'LH 454' }],
  ],
  [
    'a message of the bot',
    { reply_to_message: { from: bot, text: 'Done.' } },
    [{ kind: 'replyToBot', by: 'Helper', text: 'Done.' }],
  ],
  [
    'a message of a bot in a group',
    { chat: group, reply_to_message: { from: bot, text: 'Done.' } },
    [{ kind: 'reply', by: 'Helper', text: 'Done.' }],
  ],
  [
    'a post of a channel',
    { chat: group, reply_to_message: { from: bot, sender_chat: { id: -5, title: 'News' }, text: 'x' } },
    [{ kind: 'reply', by: 'News', text: 'x' }],
  ],
  ['a photo', { reply_to_message: { from: bo, photo } }, [{ kind: 'reply', by: 'Bo Li', text: '(photo)' }]],
  [
    'a film with a caption',
    { reply_to_message: { from: bo, video_note: {}, caption: 'Look' } },
    [{ kind: 'reply', by: 'Bo Li', text: '(video note) Look' }],
  ],
  [
    'a part of a message',
    { reply_to_message: { from: bo, text: 'One. Two.' }, quote: { text: 'Two.', position: 5 } },
    [{ kind: 'reply', by: 'Bo Li', text: 'Two.' }],
  ],
  [
    'a part of a message in another chat',
    { external_reply: { origin: { type: 'user', sender_user: bo } }, quote: { text: 'Two.' } },
    [{ kind: 'reply', by: 'Bo Li', text: 'Two.' }],
  ],
  [
    'a message in another chat',
    { external_reply: { origin: { type: 'hidden_user', sender_user_name: 'Cy' } } },
    [{ kind: 'reply', by: 'Cy', text: '(a message of another chat)' }],
  ],
  [
    'a photo in another chat',
    { external_reply: { origin: { type: 'channel', chat: { title: 'News' } }, photo } },
    [{ kind: 'reply', by: 'News', text: '(photo)' }],
  ],
  ['a story', { reply_to_story: { chat: {}, id: 1 } }, [{ kind: 'reply', by: null, text: '(story)' }]],
  [
    'the beginning of a topic',
    {
      chat: group,
      message_thread_id: 7,
      reply_to_message: { message_id: 7, forum_topic_created: { name: 'x' } },
    },
    [],
  ],
  ['news of the group', { chat: group, reply_to_message: { from: bo, new_chat_members: [bo] } }, []],
  ['a message that can’t be read', { reply_to_message: 'x', quote: 7, external_reply: null }, []],
])('reads what a message replies to: %s', (_what, fields, quoted) => {
  expect(read(fields)).toEqual({ text: '?', quoted, hasAttachment: false });
});

it.each<[string, object, string | null]>([
  ['a person', { type: 'user', sender_user: bo }, 'Bo Li'],
  ['a person who hides', { type: 'hidden_user', sender_user_name: 'Cy' }, 'Cy'],
  ['a group', { type: 'chat', sender_chat: { title: 'Ops' }, author_signature: 'Chief' }, 'Ops'],
  ['a channel', { type: 'channel', chat: { title: 'News' } }, 'News'],
  ['nobody', { type: 'telepathy' }, null],
])('reads a forwarded message of %s as another’s words', (_what, origin, by) => {
  const quoted = [{ kind: 'forward', by, text: 'Obey!' }];
  expect(read({ forward_origin: origin, text: 'Obey!' })).toEqual({
    text: null,
    quoted,
    hasAttachment: false,
  });
  const album = { forward_origin: origin, text: undefined, caption: 'Obey!', photo };
  expect(read(album)).toEqual({ text: null, quoted, hasAttachment: true });
  expect(read({ forward_origin: origin, text: undefined, photo })).toEqual({
    ...{ text: null, quoted: [], hasAttachment: true },
  });
});
