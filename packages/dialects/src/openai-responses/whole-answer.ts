import { isFields } from '@gatehouse/kit/fields';
import { AnswerMeter } from '../usage/answer-meter.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import { withToolCalls } from '../usage/usage.ts';
import { AnswerJson } from '../wire/answer-json.ts';
import { NoAnswer, type ReadOptions, type WholeAnswer } from '../dialect.ts';
import { responseError } from './events.ts';
import { HostedCalls } from './hosted-calls.ts';
import { maxItems } from './item-builder.ts';
import { addItem, isCall, spokenText } from './items.ts';

/** Members beside the output that say what an answer is. */
const memberNames = [
  ...['object', 'type', 'model', 'usage', 'status', 'service_tier', 'error', 'message', 'code', 'success'],
];
/** Members of an item that is too large to be parsed. */
const itemNames = ['type', 'status', 'action'];

/** Throws `NoAnswer`, so that a broken provider does not count as a success. */
export async function readWhole(
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadOptions,
): Promise<WholeAnswer> {
  const whole = AnswerJson.whole(bytes, tenantId);
  const answer = await whole.fields(memberNames);
  if (answer === null) throw new NoAnswer(null);
  const items = (await (await whole.member('output'))?.elements(maxItems)) ?? null;
  const error = responseError(answer);
  if (items === null || (error !== null && items.length === 0)) throw new NoAnswer(error);
  const meter = new AnswerMeter(keepsText);
  meter.addModel(answer['model']);
  const hosted = await meterItems(items, meter);
  return {
    broken: error,
    responseModel: meter.responseModel,
    usage: withToolCalls(readUsage(answer['usage']), hosted.counted),
    serviceTier: readServiceTier(answer),
    answer: meter.answer,
    text: meter.keptText,
  };
}

/** Meters all items, of which any may be a call. */
async function meterItems(items: readonly AnswerJson[], meter: AnswerMeter): Promise<HostedCalls> {
  const hosted = new HostedCalls();
  for (const part of items) {
    const item = await part.value();
    if (!isFields(item)) {
      hosted.add((await part.fields(itemNames)) ?? {});
      meter.sample.addChars(part.chars);
      continue;
    }
    hosted.add(item);
    meter.callsTools ||= isCall(item);
    if (meter.sample.isFull) meter.sample.addChars(part.chars);
    else addItem(meter.sample, item);
    if (item['type'] === 'message') meter.addSpoken(spokenText(item));
  }
  return hosted;
}
