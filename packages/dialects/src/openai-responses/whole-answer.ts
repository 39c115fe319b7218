import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { AnswerMeter } from '../usage/answer-meter.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import { withToolCalls } from '../usage/usage.ts';
import { AnswerJson } from '../wire/answer-json.ts';
import { NoAnswer, type ReadOptions, type WholeAnswer, type ProviderError } from '../dialect.ts';
import { responseError } from './events.ts';
import { HostedCalls } from './hosted-calls.ts';
import { addItem, isCall, spokenText } from './items.ts';
import { endingIn, type Answer, type AnswerPart, type Ending } from '../translation/answer.ts';
import type { ModelFacts } from '../translation/api.ts';
import { textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import { callOf, thinkingParts } from './input-reader.ts';
import { maxParts } from '../bounds.ts';

/** Members beside the output by which an answer is recognised. */
const memberNames = [
  ...['object', 'type', 'model', 'usage', 'status', 'service_tier', 'error', 'message', 'code', 'success'],
];
/** Members of an item too large for parsing. */
const itemNames = ['type', 'status', 'action'];

/** Throws `NoAnswer`, so a broken provider does not count as a success. */
export async function readWhole(
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadOptions,
): Promise<WholeAnswer> {
  const whole = await AnswerJson.whole(bytes, tenantId);
  const answer = await whole.fields(memberNames);
  if (answer === null) throw new NoAnswer(null);
  const items = (await (await whole.member('output'))?.elements(maxParts)) ?? null;
  const error = responseError(answer);
  if (items === null || (error !== null && items.length === 0)) throw new NoAnswer(error);
  const meter = new AnswerMeter(keepsText);
  meter.addModel(answer['model']);
  const hosted = await meterItems(items, meter);
  return meter.whole({
    broken: error,
    usage: withToolCalls(readUsage(answer['usage']), hosted.counted),
    serviceTier: readServiceTier(answer),
  });
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

/** See `ProviderFormat`. */
export function readAnswer(fields: Fields, _source: JsonSource, facts: ModelFacts): Answer | ProviderError {
  const { output } = fields;
  const error = responseError(fields);
  if (error !== null && listOf(output).length === 0) return error;
  if (!Array.isArray(output)) throw new Error('the answer has no output');
  const parts = (output as unknown[]).filter(isFields).flatMap(partsOf);
  const ending = endingOf(fields);
  return {
    id: textOf(fields['id']),
    model: textIn(fields['model']) ?? facts.name,
    parts,
    stop: ending.stop,
    usage: readUsage(fields['usage']),
    serviceTier: readServiceTier(fields),
    broken: error ?? ending.broken,
  };
}

/** The parts of an item. Those of the provider's own tools are left out: requests for them are refused. */
export function partsOf(item: Fields): AnswerPart[] {
  switch (item['type']) {
    case 'message':
      return listOf(item['content']).filter(isFields).flatMap(contentPart);
    case 'reasoning':
      return thinkingParts(item);
    case 'function_call':
    case 'custom_tool_call':
      return [callOf(item)];
    default:
      return [];
  }
}

function contentPart({ type, text, refusal }: Fields): AnswerPart[] {
  if (type === 'refusal') return [{ kind: 'refusal', text: textOf(refusal) }];
  return type === 'output_text' ? [{ kind: 'text', text: textOf(text) }] : [];
}

/** The end of a response. A cancelled one, or one under way, is not complete. */
export function endingOf({ status, incomplete_details: details }: Fields): Ending {
  const { reason } = Object(details) as Fields;
  if (status === 'incomplete')
    return {
      stop: { reason: reason === 'content_filter' ? 'refusal' : 'length', sequence: null },
      broken: null,
    };
  return endingIn(textIn(status) ?? 'completed', { completed: 'end' });
}
