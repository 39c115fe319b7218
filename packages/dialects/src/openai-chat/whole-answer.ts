import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { NoAnswer, type ReadOptions, type WholeAnswer } from '../dialect.ts';
import {
  elementRanges,
  isParsable,
  memberRanges,
  maxMemberBytes,
  parsedPart,
  smallMembers,
  wholeOf,
  type Range,
} from '../wire/json-parts.ts';
import { KeptText } from '../usage/kept-text.ts';
import { messageText, spokenText } from './message-text.ts';
import { errorIn } from '../provider-errors.ts';
import { errorInChoice } from './provider-error.ts';
import { sampleOf } from '../usage/token-estimate.ts';
import { readServiceTier, usageIn } from '../usage/usage-reader.ts';

const maxChoices = 256;

/**
 * If an answer can't be parsed within 50 ms, reads the members that count, and not whether the rest is well formed.
 * Throws `NoAnswer`, so that a broken provider does not count as a success.
 */
export async function readWhole(
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadOptions,
): Promise<WholeAnswer> {
  const whole = wholeOf(bytes);
  const isParsed = await isParsable(bytes, whole, tenantId);
  const read = isParsed
    ? { answer: await parsedPart(bytes, whole, tenantId), unreadChars: 0 }
    : await membersOf(bytes, tenantId);
  const { answer, unreadChars } = read;
  if (!isFields(answer)) throw new NoAnswer(null);
  const error = errorIn(answer);
  if (error !== null) throw new NoAnswer(error);
  const errors = listOf(answer['choices']).map((choice) => errorInChoice(Object(choice) as Fields));
  const broken = errors.find((each) => each !== null) ?? null;
  const messages = messagesOf(answer);
  if (messages === null) throw new NoAnswer(broken);
  const { model } = answer;
  const { beginning, chars } = sampleOf(messages.map(messageText).join('\n'));
  return {
    broken,
    responseModel: typeof model === 'string' ? cutText(model, textLimits.response_model) : null,
    usage: usageIn(answer),
    serviceTier: readServiceTier(answer),
    answer: { beginning, chars: chars + unreadChars },
    text: keepsText ? saidIn(messages[0]) : '',
  };
}

interface LargeAnswer {
  answer: Fields | null;
  /** Characters of messages beyond what is in the answer. */
  unreadChars: number;
}

/** Reads the members that count, of a large object, with the messages of its choices. */
async function membersOf(bytes: Buffer, tenantId: string | null): Promise<LargeAnswer> {
  const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
  if (members === null) return { answer: null, unreadChars: 0 };
  const small = async (name: string, otherwise?: unknown): Promise<unknown> => {
    const range = members.get(name);
    if (range === undefined) return undefined;
    return range.until - range.from > maxMemberBytes ? otherwise : parsedPart(bytes, range, tenantId);
  };
  const elements = async (name: string, max: number): Promise<readonly Range[] | null> => {
    const range = members.get(name);
    return range === undefined ? null : elementRanges(bytes, range, { tenantId, max });
  };
  const choices = await elements('choices', maxChoices);
  const read = await Promise.all((choices ?? []).map((choice) => choiceOf(bytes, choice, tenantId)));
  // Vectors are the client's: that there is one is enough.
  const data = await elements('data', 1);
  const others: Fields = {};
  for (const name of memberNames) others[name] = await small(name);
  return {
    answer: {
      ...others,
      error: await small('error', true),
      ...(choices !== null && { choices: read.map(({ choice }) => choice) }),
      ...(data !== null && { data }),
    },
    unreadChars: read.reduce((sum, { unreadChars }) => sum + unreadChars, 0),
  };
}

/** Members beside choices that say what an answer is. */
const memberNames = [
  ...[
    'model',
    'usage',
    'x_groq',
    'service_tier',
    'object',
    'type',
    'success',
    'code',
    'status',
    'status_code',
  ],
  ...['errors', 'detail', 'message', 'msg'],
];

async function choiceOf(
  bytes: Buffer,
  range: Range,
  tenantId: string | null,
): Promise<{ choice: Fields; unreadChars: number }> {
  const members = await memberRanges(bytes, range, tenantId);
  const choice = await smallMembers(bytes, members, { names: ['finish_reason', 'error', 'usage'], tenantId });
  const message = members?.get('message');
  if (message === undefined) return { choice, unreadChars: 0 };
  if (await isParsable(bytes, message, tenantId))
    return { choice: { ...choice, message: await parsedPart(bytes, message, tenantId) }, unreadChars: 0 };
  const read = await largeMessage(bytes, message, tenantId);
  return { choice: { ...choice, message: read.message }, unreadChars: read.unreadChars };
}

/**
 * The text of a message that is too large, with pictures for example. A text that is too large counts as it is written.
 */
async function largeMessage(
  bytes: Buffer,
  message: Range,
  tenantId: string | null,
): Promise<{ message: Fields; unreadChars: number }> {
  const members = await memberRanges(bytes, message, tenantId);
  const read: Fields = {};
  let unreadChars = 0;
  for (const name of ['content', 'refusal', 'reasoning_content', 'reasoning', 'tool_calls']) {
    const range = members?.get(name);
    if (range === undefined) continue;
    if (await isParsable(bytes, range, tenantId)) read[name] = await parsedPart(bytes, range, tenantId);
    else if (name === 'content') {
      // Without its quotation mark.
      read[name] = bytes
        .toString('utf8', range.from, range.from + maxMemberBytes)
        .trimStart()
        .slice(1);
      unreadChars += range.until - range.from - maxMemberBytes;
    } else unreadChars += range.until - range.from;
  }
  return { message: read, unreadChars };
}

/** The messages of an answer's choices: none for embeddings; null if there is not one message and no embedding. */
function messagesOf({ choices, data }: Fields): Fields[] | null {
  if (listOf(data).length > 0 && choices === undefined) return [];
  const messages = listOf(choices).map((choice) => (Object(choice) as Fields)['message']);
  return messages.some(isFields) ? messages.map((message) => (isFields(message) ? message : {})) : null;
}

function saidIn(message: Fields | undefined): string {
  const said = new KeptText();
  said.add(spokenText(message?.['content']));
  return said.text;
}
