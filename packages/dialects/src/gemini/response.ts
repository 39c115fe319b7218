import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { AnswerMeter } from '../usage/answer-meter.ts';
import { readUsage } from '../usage/usage-reader.ts';
import { mediaOf, partsOf as classesOf, withToolCalls, type Media, type Usage } from '../usage/usage.ts';
import { AnswerJson } from '../wire/answer-json.ts';
import { NoAnswer, type ProviderError, type ReadOptions, type WholeAnswer } from '../dialect.ts';
import {
  endingIn,
  hasMedia,
  type Answer,
  type AnswerPart,
  type Ending,
  type StopReason,
} from '../translation/answer.ts';
import type { ModelFacts } from '../translation/api.ts';
import { textIn, textOf } from '../translation/fields.ts';
import { writeJson, type JsonSource } from '../wire/json-text.ts';
import { inputOf } from '../anthropic-messages/content-writer.ts';
import { answerPartsOf } from './answer-parts.ts';
import { callIn, keepAlivePart, partsText, spokenText } from './content.ts';
import { publicErrorIn } from './errors.ts';
import { HeldThoughts } from './held-thoughts.ts';
import { metadataNames, searchCalls, searchesIn } from './grounding.ts';
import { hasFinished, isBlocked } from './stream.ts';
import { memberIn, objectIn, objectsIn, valueOf } from './fields.ts';
import { maxChoices, maxParts } from '../bounds.ts';

/** Members beside the candidates by which an answer is recognised. */
const memberNames = [
  ...['promptFeedback', 'usageMetadata', 'modelVersion'],
  ...['error', 'message', 'code', 'status'],
];

/**
 * Throws `NoAnswer`, so a broken provider does not count as a success. A blocked prompt has an answer without
 * candidates.
 */
export async function readWhole(
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadOptions,
): Promise<WholeAnswer> {
  const whole = await AnswerJson.whole(bytes, tenantId);
  const answer = await whole.fields(memberNames);
  if (answer === null) throw new NoAnswer(errorInArray(await whole.value()));
  const meter = new AnswerMeter(keepsText);
  const searches: number[] = [];
  for (const candidate of await elementsOf(whole, 'candidates', maxChoices)) {
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
  return meter.whole({
    broken: error,
    usage: withToolCalls(readUsage(usageMetadata), searchCalls(searches)),
    serviceTier: null,
  });
}

/** Google's streams as arrays have their error in one, possibly with status 200. */
function errorInArray(answer: unknown): ReturnType<typeof publicErrorIn> {
  const [first] = listOf(answer);
  return isFields(first) ? publicErrorIn(first) : null;
}

/** Whether an answer has vectors, which are the client's: one is enough. */
async function isEmbedded(whole: AnswerJson): Promise<boolean> {
  const vectors = await (await whole.member('embeddings'))?.elements(1);
  const vector = await (await whole.member('embedding'))?.fields([]);
  return isFields(vector) || (vectors ?? []).length > 0;
}

/** A call of a tool in the first candidate is not yet the answer. */
async function meterCandidate(candidate: AnswerJson, index: number, meter: AnswerMeter): Promise<void> {
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
async function elementsOf(part: AnswerJson, name: string, max: number): Promise<readonly AnswerJson[]> {
  const list = await part.member(name);
  const elements = (await list?.elements(max)) ?? null;
  if (elements !== null || list === null) return elements ?? [];
  return (await list.fields([])) === null ? [] : [list];
}

/** See `ProviderFormat`. */
export function readAnswer(fields: Fields, source: JsonSource, facts: ModelFacts): Answer | ProviderError {
  const error = publicErrorIn(fields);
  const [candidate] = objectsIn(fields, 'candidates');
  if (error !== null && candidate === undefined) return error;
  if (candidate === undefined && !isBlocked(fields)) throw new Error('the answer has no candidate');
  const content = memberIn(source.member('candidates')?.element(0) ?? null, 'content')?.member('parts');
  const parts = answerPartsOf(
    objectsIn(objectIn(candidate ?? {}, 'content'), 'parts'),
    (index) => content?.element(index) ?? null,
  );
  const ending = endingOf(candidate, fields);
  return {
    id: textOf(valueOf(fields, 'responseId')),
    model: textIn(valueOf(fields, 'modelVersion')) ?? facts.name,
    parts,
    stop: ending.stop,
    usage: readUsage(valueOf(fields, 'usageMetadata')),
    serviceTier: null,
    broken: error ?? ending.broken,
  };
}

/** Parts with an image, a sound or a file. */
function isMedia(part: Fields): boolean {
  return isFields(valueOf(part, 'inlineData')) || isFields(valueOf(part, 'fileData'));
}

/** Others mean an incomplete answer of the model: `MALFORMED_FUNCTION_CALL`, `OTHER` and `NO_IMAGE`, for example. */
const reasons: Readonly<Record<string, StopReason>> = {
  ...{ STOP: 'end', MAX_TOKENS: 'length', CONTINUATION: 'pause' },
  ...{ SAFETY: 'refusal', RECITATION: 'refusal', LANGUAGE: 'refusal', BLOCKLIST: 'refusal' },
  ...{ PROHIBITED_CONTENT: 'refusal', SPII: 'refusal', IMAGE_SAFETY: 'refusal' },
  ...{ IMAGE_PROHIBITED_CONTENT: 'refusal', IMAGE_RECITATION: 'refusal' },
};

/** The end of a candidate, or of a frame with a piece of it. A blocked prompt is a refusal. */
export function endingOf(candidate: Fields | undefined, response: Fields): Ending {
  if (candidate === undefined && isBlocked(response))
    return { stop: { reason: 'refusal', sequence: null }, broken: null };
  const finishReason = valueOf(candidate ?? {}, 'finishReason');
  const ending = hasFinished({ finishReason })
    ? endingIn(textOf(finishReason), reasons)
    : ({ stop: { reason: 'end', sequence: null }, broken: null } as const);
  const saysMedia = objectsIn(objectIn(candidate ?? {}, 'content'), 'parts').some(isMedia);
  return saysMedia ? { ...ending, broken: hasMedia } : ending;
}

export const finishReasons: Readonly<Record<StopReason, string>> = {
  ...{ end: 'STOP', calls: 'STOP', sequence: 'STOP' },
  ...{ pause: 'MAX_TOKENS', length: 'MAX_TOKENS', context: 'MAX_TOKENS', refusal: 'SAFETY' },
};

/** See `ClientFormat`. */
export function writeAnswer({ id, model, parts, stop, usage }: Answer): string {
  const content = { role: 'model', parts: writtenParts(parts) };
  return writeJson({
    candidates: [{ content, finishReason: finishReasons[stop.reason], index: 0 }],
    ...(usage !== null && { usageMetadata: writeUsage(usage) }),
    ...{ modelVersion: model, responseId: id },
  });
}

function writtenParts(parts: readonly AnswerPart[]): Fields[] {
  const thoughts = new HeldThoughts();
  const written = parts.flatMap((part) => writtenPart(part, thoughts));
  return thoughts.isEmpty ? written : [...written, thoughts.signed(keepAlivePart)];
}

function writtenPart(part: AnswerPart, thoughts: HeldThoughts): Fields[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [thoughts.signed({ text: part.text })];
    case 'thinking':
      thoughts.add(part.text);
      thoughts.end(part.signature);
      return part.text === '' ? [] : [{ text: part.text, thought: true }];
    case 'call':
      return [thoughts.signed(callPart(part))];
  }
}

export function callPart({
  id,
  name,
  argumentsText,
}: {
  id: string;
  name: string;
  argumentsText: string;
}): Fields {
  return { functionCall: { id, name, args: inputOf(argumentsText) } };
}

/** Usage as Google writes it. Tokens written to a cache, which it does not count, have names known to the reader. */
export function writeUsage(usage: Usage): Fields {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  const { cacheWrite1h } = classesOf(usage);
  const media = mediaOf(usage);
  const [input, cached, output] = [media.input, media.cached, media.output].map(modalities);
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - reasoningTokens,
    totalTokenCount: inputTokens + outputTokens,
    ...(cachedInputTokens > 0 && { cachedContentTokenCount: cachedInputTokens }),
    ...(reasoningTokens > 0 && { thoughtsTokenCount: reasoningTokens }),
    ...(cacheWriteTokens > 0 && { cacheWriteTokenCount: cacheWriteTokens }),
    ...(cacheWrite1h > 0 && { cacheWrite1hTokenCount: cacheWrite1h }),
    ...(input !== undefined && { promptTokensDetails: input }),
    ...(cached !== undefined && { cacheTokensDetails: cached }),
    ...(output !== undefined && { candidatesTokensDetails: output }),
  };
}

function modalities(tokens: Media): Fields[] | undefined {
  const counted = Object.entries(tokens).filter(([, tokenCount]) => tokenCount > 0);
  return counted.length === 0
    ? undefined
    : counted.map(([name, tokenCount]) => ({ modality: name.toUpperCase(), tokenCount }));
}
