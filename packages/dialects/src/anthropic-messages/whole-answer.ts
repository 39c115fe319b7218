import { AnswerMeter } from '../usage/answer-meter.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import { AnswerPart } from '../wire/answer-part.ts';
import { NoAnswer, type ReadOptions, type WholeAnswer } from '../dialect.ts';
import { publicErrorIn } from '../public-errors.ts';
import { contentText, spokenText } from './content.ts';
import { callsTools } from './events.ts';

const maxBlocks = 4_096;

/** Members beside the content that say what an answer is. */
const memberNames = [
  ...['type', 'model', 'usage', 'stop_reason'],
  ...['error', 'message', 'code', 'status', 'success'],
];

/** Throws `NoAnswer`, so that a broken provider does not count as a success. */
export async function readWhole(
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadOptions,
): Promise<WholeAnswer> {
  const whole = AnswerPart.whole(bytes, tenantId);
  const answer = await whole.fields(memberNames);
  if (answer === null) throw new NoAnswer(null);
  const blocks = (await (await whole.member('content'))?.elements(maxBlocks)) ?? null;
  const error = publicErrorIn(answer);
  if (blocks === null || (error !== null && blocks.length === 0)) throw new NoAnswer(error);
  const meter = new AnswerMeter(keepsText);
  meter.callsTools = callsTools(answer);
  meter.addModel(answer['model']);
  for (const block of blocks) {
    const value = meter.isFull ? undefined : await block.value();
    if (value === undefined) meter.sample.addChars(block.chars);
    else meter.addText(contentText([value]), spokenText([value]));
  }
  return {
    broken: error,
    responseModel: meter.responseModel,
    usage: readUsage(answer['usage']),
    serviceTier: readServiceTier(answer),
    answer: meter.answer,
    text: meter.keptText,
  };
}
