import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { inLoopTurn } from '@gatehouse/kit/loop-turns';
import { KeptText } from '../usage/kept-text.ts';
import { SampleBuilder, type TextSample } from '../usage/token-estimate.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import { withToolCalls, type ToolCalls } from '../usage/usage.ts';
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
import { HostedCalls } from './hosted-calls.ts';
import { maxItems } from './item-builder.ts';
import { addItem, isCall, spokenText } from './items.ts';

/**
 * If an answer can't be parsed within 50 ms, reads the members that count, and not whether the rest is well formed.
 * Throws `NoAnswer`, so that a broken provider does not count as a success.
 */
export async function readWhole(
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadOptions,
): Promise<WholeAnswer> {
  const { answer, items } = (await isParsable(bytes, wholeOf(bytes), tenantId))
    ? parsedWhole(await parsedPart(bytes, wholeOf(bytes), tenantId), bytes)
    : await membersOf(bytes, tenantId);
  if (!isFields(answer)) throw new NoAnswer(null);
  const error = errorOf(answer);
  if (error !== null && (items === null || items.count === 0)) throw new NoAnswer(error);
  if (items === null) throw new NoAnswer(null);
  const { model, usage } = answer;
  const { sample, text, toolCalls } = await readItems(items, keepsText);
  return {
    broken: error,
    responseModel: typeof model === 'string' ? cutText(model, textLimits.response_model) : null,
    usage: withToolCalls(readUsage(usage), toolCalls),
    serviceTier: readServiceTier(answer),
    answer: sample,
    text,
  };
}

/** A response that failed may not say why. */
function errorOf(answer: Fields): WholeAnswer['broken'] {
  return publicErrorIn(answer) ?? (answer['status'] === 'failed' ? {} : null);
}

/** The items of an output, as far as they are read. */
interface Items {
  count: number;
  /** Null for an item that takes too long to parse. */
  read(index: number): Promise<unknown>;
  /** The members of such an item that are small. */
  head(index: number): Promise<Fields>;
  /** Characters of an item as it is written. */
  charsOf(index: number): number;
}

/** The texts of items, and the calls among them. Text before a call of a tool is not yet the answer that is kept. */
async function readItems(
  items: Items,
  keepsText: boolean,
): Promise<{ sample: TextSample; text: string; toolCalls: ToolCalls }> {
  const sample = new SampleBuilder();
  const hosted = new HostedCalls();
  const kept = new KeptText();
  let callsTools = false;
  for (let index = 0; index < items.count; index += 1) {
    // Any item may be a call.
    const item = await items.read(index);
    if (!isFields(item)) {
      hosted.add(await items.head(index));
      sample.addChars(items.charsOf(index));
      continue;
    }
    hosted.add(item);
    if (sample.isFull) sample.addChars(items.charsOf(index));
    else addItem(sample, item);
    callsTools ||= isCall(item);
    if (item['type'] === 'message') kept.add(spokenText(item));
  }
  return {
    sample: sample.built,
    text: keepsText && !callsTools ? kept.text : '',
    toolCalls: hosted.counted,
  };
}

function parsedWhole(answer: unknown, { length }: Buffer): { answer: unknown; items: Items | null } {
  const { output } = Object(answer) as Fields;
  if (!Array.isArray(output)) return { answer, items: null };
  const list = output as unknown[];
  const each = length / Math.max(1, list.length);
  return {
    answer,
    items: {
      count: list.length,
      read: (index) => Promise.resolve(list[index]),
      head: () => Promise.resolve({}),
      charsOf: () => each,
    },
  };
}

/** Members beside the output that say what an answer is. */
const memberNames = [
  ...['object', 'type', 'model', 'usage', 'status', 'service_tier', 'error', 'message', 'code', 'success'],
];

/** Reads the members that count, of a large object. Its items are read one by one, each in a turn of the tenant. */
async function membersOf(
  bytes: Buffer,
  tenantId: string | null,
): Promise<{ answer: Fields | null; items: Items | null }> {
  const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
  if (members === null) return { answer: null, items: null };
  const answer = await smallMembers(bytes, members, { names: memberNames, tenantId });
  const output = members.get('output');
  const ranges =
    output === undefined ? null : await elementRanges(bytes, output, { tenantId, max: maxItems });
  if (output === undefined || ranges === null) return { answer, items: null };
  return {
    answer,
    items: {
      count: ranges.length,
      read: async (index) => {
        const range = ranges[index] ?? output;
        if (!(await isParsable(bytes, range, tenantId))) return null;
        return inLoopTurn(
          tenantId,
          () => JSON.parse(bytes.toString('utf8', range.from, range.until)) as unknown,
        );
      },
      head: async (index) => {
        const members = await memberRanges(bytes, ranges[index] ?? output, tenantId);
        return smallMembers(bytes, members, { names: ['type', 'status', 'action'], tenantId });
      },
      charsOf: (index) => sizeOf(ranges[index]),
    },
  };
}

function sizeOf(range: Range | undefined): number {
  return range === undefined ? 0 : range.until - range.from;
}
