import { isFields, listOf } from '@gatehouse/kit/fields';
import { AnswerMeter } from '../usage/answer-meter.ts';
import { readUsage } from '../usage/usage-reader.ts';
import { withToolCalls } from '../usage/usage.ts';
import { AnswerPart } from '../wire/answer-part.ts';
import { NoAnswer, type ReadOptions, type WholeAnswer } from '../dialect.ts';
import { callIn, partsText, spokenText } from './content.ts';
import { publicErrorIn } from './google-error.ts';
import { metadataNames, searchCalls, searchesIn } from './grounding.ts';
import { isBlocked } from './responses.ts';

const maxCandidates = 128;
const maxParts = 4_096;

/** Members beside the candidates that say what an answer is. */
const memberNames = [
  ...['promptFeedback', 'usageMetadata', 'modelVersion'],
  ...['error', 'message', 'code', 'status'],
];

/**
 * Throws `NoAnswer`, so that a broken provider does not count as a success. A prompt that was blocked has an answer without
 * candidates.
 */
export async function readWhole(
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadOptions,
): Promise<WholeAnswer> {
  const whole = AnswerPart.whole(bytes, tenantId);
  const answer = await whole.fields(memberNames);
  if (answer === null) throw new NoAnswer(errorInArray(await whole.value()));
  const meter = new AnswerMeter(keepsText);
  const searches: number[] = [];
  for (const candidate of await elementsOf(whole, 'candidates', maxCandidates)) {
    const metadata = await candidate.fields(metadataNames);
    if (metadata === null) continue;
    await meterCandidate(candidate, searches.length, meter);
    searches.push(searchesIn(metadata));
  }
  const error = publicErrorIn(answer);
  const { usageMetadata, modelVersion } = answer;
  const hasOutput = searches.length > 0 || (await isEmbedded(whole));
  const isAnswer = hasOutput || (error === null && (isBlocked(answer) || isFields(usageMetadata)));
  if (!isAnswer) throw new NoAnswer(error);
  meter.addModel(modelVersion);
  return {
    broken: error,
    responseModel: meter.responseModel,
    usage: withToolCalls(readUsage(usageMetadata), searchCalls(searches)),
    serviceTier: null,
    answer: meter.answer,
    text: meter.keptText,
  };
}

/** Google's streams that are arrays have their error in one, which may come with status 200. */
function errorInArray(answer: unknown): ReturnType<typeof publicErrorIn> {
  const [first] = listOf(answer);
  return isFields(first) ? publicErrorIn(first) : null;
}

/** Whether an answer has vectors, which are the client's: that there are some is enough. */
async function isEmbedded(whole: AnswerPart): Promise<boolean> {
  const vectors = await (await whole.member('embeddings'))?.elements(1);
  const vector = await (await whole.member('embedding'))?.fields([]);
  return isFields(vector) || (vectors ?? []).length > 0;
}

/** A call of a tool in the first candidate is not yet the answer. */
async function meterCandidate(candidate: AnswerPart, index: number, meter: AnswerMeter): Promise<void> {
  const content = await candidate.member('content');
  for (const part of content === null ? [] : await elementsOf(content, 'parts', maxParts)) {
    const value = meter.isFull ? undefined : await part.value();
    if (!isFields(value)) {
      meter.sample.addChars(part.chars);
      continue;
    }
    meter.callsTools ||= index === 0 && callIn(value) !== null;
    meter.addText(partsText([value]), index === 0 ? spokenText([value]) : '');
  }
}

/** A list of one may stand without its brackets. */
async function elementsOf(part: AnswerPart, name: string, max: number): Promise<readonly AnswerPart[]> {
  const list = await part.member(name);
  const elements = (await list?.elements(max)) ?? null;
  if (elements !== null || list === null) return elements ?? [];
  return (await list.fields([])) === null ? [] : [list];
}
