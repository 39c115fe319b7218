import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { KeptText } from '../../usage/kept-text.ts';
import { sampleOf } from '../../usage/token-estimate.ts';
import { readServiceTier, readUsage } from '../../usage/usage-reader.ts';
import {
  elementRanges,
  isParsable,
  memberRanges,
  parsedPart,
  wholeOf,
  type Range,
} from '../../wire/json-parts.ts';
import { NoAnswer, type ReadOptions, type WholeAnswer } from '../dialect.ts';
import { errorIn } from '../error-words.ts';
import { contentText, spokenText } from './content.ts';
import { callsTools } from './event-reader.ts';

/** Each is parsed by itself in an answer that is too large. */
const maxMemberBytes = 64 * 1024;
const maxBlocks = 4_096;

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
  const { answer, unreadChars } = isParsed
    ? { answer: await parsedPart(bytes, whole, tenantId), unreadChars: 0 }
    : await membersOf(bytes, tenantId);
  if (!isFields(answer)) throw new NoAnswer(null);
  const { content, model, usage } = answer;
  const error = errorIn(answer);
  const isBegun = Array.isArray(content) && content.length > 0;
  if (error !== null && !isBegun) throw new NoAnswer(error);
  if (!Array.isArray(content)) throw new NoAnswer(null);
  const { beginning, chars } = sampleOf(contentText(content));
  return {
    broken: error,
    responseModel: typeof model === 'string' ? cutText(model, textLimits.response_model) : null,
    usage: readUsage(usage),
    serviceTier: readServiceTier(answer),
    answer: { beginning, chars: chars + unreadChars },
    text: keepsText && !callsTools(answer) ? keptText(content) : '',
  };
}

function keptText(content: unknown): string {
  const kept = new KeptText();
  kept.add(spokenText(content));
  return kept.text;
}

/** Members beside the content that say what an answer is. */
const smallMembers = [
  'type',
  'model',
  'usage',
  'stop_reason',
  'error',
  'message',
  'code',
  'status',
  'success',
];

/** Reads the members that count, of a large object, with the blocks of its content. */
async function membersOf(
  bytes: Buffer,
  tenantId: string | null,
): Promise<{ answer: Fields | null; unreadChars: number }> {
  const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
  if (members === null) return { answer: null, unreadChars: 0 };
  const answer: Fields = {};
  for (const name of smallMembers) {
    const range = members.get(name);
    if (range !== undefined && range.until - range.from <= maxMemberBytes)
      answer[name] = await parsedPart(bytes, range, tenantId);
  }
  const content = members.get('content');
  const ranges =
    content === undefined ? null : await elementRanges(bytes, content, { tenantId, max: maxBlocks });
  if (ranges === null) return { answer, unreadChars: 0 };
  const blocks = await Promise.all(ranges.map((range) => blockIn(bytes, range, tenantId)));
  answer['content'] = blocks.map(({ block }) => block);
  return { answer, unreadChars: blocks.reduce((sum, { unreadChars }) => sum + unreadChars, 0) };
}

/** A block that is too large counts as it is written. */
async function blockIn(
  bytes: Buffer,
  range: Range,
  tenantId: string | null,
): Promise<{ block: unknown; unreadChars: number }> {
  if (await isParsable(bytes, range, tenantId))
    return { block: await parsedPart(bytes, range, tenantId), unreadChars: 0 };
  return { block: {}, unreadChars: range.until - range.from };
}
