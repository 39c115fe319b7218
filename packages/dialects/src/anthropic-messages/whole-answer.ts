import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { inLoopTurn } from '@gatehouse/kit/loop-turns';
import { KeptText } from '../usage/kept-text.ts';
import { SampleBuilder } from '../usage/token-estimate.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import {
  elementRanges,
  isParsable,
  memberRanges,
  parsedPart,
  smallMembers,
  wholeOf,
  type Range,
} from '../wire/json-parts.ts';
import { NoAnswer, type ReadOptions, type WholeAnswer } from '../dialect.ts';
import { publicErrorIn } from '../public-errors.ts';
import { contentText, spokenText } from './content.ts';
import { callsTools } from './events.ts';

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
  const { answer, blocks } = (await isParsable(bytes, whole, tenantId))
    ? parsedWhole(await parsedPart(bytes, whole, tenantId), bytes)
    : await membersOf(bytes, tenantId);
  if (!isFields(answer)) throw new NoAnswer(null);
  const error = publicErrorIn(answer);
  if (error !== null && (blocks === null || blocks.count === 0)) throw new NoAnswer(error);
  if (blocks === null) throw new NoAnswer(null);
  const { model, usage } = answer;
  const sample = new SampleBuilder();
  const kept = keepsText && !callsTools(answer) ? new KeptText() : null;
  for (let index = 0; index < blocks.count; index += 1) {
    if (sample.isFull && kept?.isFull !== false) {
      sample.addChars(blocks.charsFrom(index));
      break;
    }
    const block = await blocks.read(index);
    sample.add(block === null ? '' : contentText([block]));
    if (block === null) sample.addChars(blocks.charsOf(index));
    kept?.add(spokenText([block]));
  }
  return {
    broken: error,
    responseModel: typeof model === 'string' ? cutText(model, textLimits.response_model) : null,
    usage: readUsage(usage),
    serviceTier: readServiceTier(answer),
    answer: sample.built,
    text: kept?.text ?? '',
  };
}

/** The blocks of a content, as far as they are read. */
interface Blocks {
  count: number;
  /** Null for a block that takes too long to parse. */
  read(index: number): Promise<unknown>;
  /** Characters of a block as it is written, and of all blocks from one on. */
  charsOf(index: number): number;
  charsFrom(index: number): number;
}

function parsedWhole(answer: unknown, { length }: Buffer): { answer: unknown; blocks: Blocks | null } {
  const { content } = Object(answer) as Fields;
  if (!Array.isArray(content)) return { answer, blocks: null };
  const list = content as unknown[];
  const each = length / Math.max(1, list.length);
  return {
    answer,
    blocks: {
      count: list.length,
      read: (index) => Promise.resolve(list[index]),
      charsOf: () => each,
      charsFrom: (index) => each * (list.length - index),
    },
  };
}

/** Members beside the content that say what an answer is. */
const memberNames = [
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

/** Reads the members that count, of a large object. Its blocks are read one by one, each in a turn of the tenant. */
async function membersOf(
  bytes: Buffer,
  tenantId: string | null,
): Promise<{ answer: Fields | null; blocks: Blocks | null }> {
  const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
  if (members === null) return { answer: null, blocks: null };
  const answer = await smallMembers(bytes, members, { names: memberNames, tenantId });
  const content = members.get('content');
  const ranges =
    content === undefined ? null : await elementRanges(bytes, content, { tenantId, max: maxBlocks });
  if (content === undefined || ranges === null) return { answer, blocks: null };
  const sizeOf = (range: Range | undefined): number => (range === undefined ? 0 : range.until - range.from);
  return {
    answer,
    blocks: {
      count: ranges.length,
      read: async (index) => {
        const range = ranges[index] ?? content;
        if (!(await isParsable(bytes, range, tenantId))) return null;
        return inLoopTurn(
          tenantId,
          () => JSON.parse(bytes.toString('utf8', range.from, range.until)) as unknown,
        );
      },
      charsOf: (index) => sizeOf(ranges[index]),
      charsFrom: (index) => content.until - (ranges[index]?.from ?? content.until),
    },
  };
}
