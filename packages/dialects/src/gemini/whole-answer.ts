import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { KeptText } from '../usage/kept-text.ts';
import { SampleBuilder, type TextSample } from '../usage/token-estimate.ts';
import { readUsage } from '../usage/usage-reader.ts';
import { withToolCalls } from '../usage/usage.ts';
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
import { callIn, partsOf, partsText, spokenText } from './content.ts';
import { publicErrorIn } from './google-error.ts';
import { metadataNames, searchCalls, searchesIn } from './grounding.ts';
import { isBlocked } from './responses.ts';

const maxCandidates = 128;
const maxParts = 4_096;

/**
 * If an answer can't be parsed within 50 ms, reads the members that count, and not whether the rest is well formed.
 * Throws `NoAnswer`, so that a broken provider does not count as a success. A prompt that was blocked has an answer
 * without candidates.
 */
export async function readWhole(
  bytes: Buffer,
  { tenantId, keepsText = false }: ReadOptions,
): Promise<WholeAnswer> {
  const whole = wholeOf(bytes);
  const { answer, candidates, parts, isEmbedded, searches } = (await isParsable(bytes, whole, tenantId))
    ? parsedWhole(await parsedPart(bytes, whole, tenantId), bytes)
    : await membersOf(bytes, tenantId);
  if (!isFields(answer)) throw new NoAnswer(errorInArray(answer));
  const error = publicErrorIn(answer);
  if (error !== null && candidates === 0 && !isEmbedded) throw new NoAnswer(error);
  const { usageMetadata, modelVersion } = answer;
  const isAnswer = candidates > 0 || isEmbedded || isBlocked(answer) || isFields(usageMetadata);
  if (!isAnswer) throw new NoAnswer(null);
  const { sample, text } = await textsOf(parts, keepsText);
  return {
    broken: error,
    responseModel: typeof modelVersion === 'string' ? cutText(modelVersion, textLimits.response_model) : null,
    usage: withToolCalls(readUsage(usageMetadata), searchCalls(searches)),
    serviceTier: null,
    answer: sample,
    text,
  };
}

/** Google's streams that are arrays have their error in one, which may come with status 200. */
function errorInArray(answer: unknown): ReturnType<typeof publicErrorIn> {
  const [first] = listOf(answer);
  return isFields(first) ? publicErrorIn(first) : null;
}

/** A part of a candidate, as far as it is read. */
interface Part {
  /** The index of its candidate among all. */
  place: number;
  /** Characters as it is written. */
  chars: number;
  /** Null for a part that takes too long to parse. */
  read(): Promise<unknown>;
}

interface ReadAnswer {
  /** Without candidates. */
  answer: unknown;
  /** How many there are. */
  candidates: number;
  parts: readonly Part[];
  /** Queries of Google's search, for each candidate. */
  searches: readonly number[];
  /** Whether it has vectors, which are the client's: that there are some is enough. */
  isEmbedded: boolean;
}

/** The text of parts, and what the first candidate says. A call of a tool is not yet the answer. */
async function textsOf(
  parts: readonly Part[],
  keepsText: boolean,
): Promise<{ sample: TextSample; text: string }> {
  const sample = new SampleBuilder();
  let kept = keepsText ? new KeptText() : null;
  for (const each of parts) {
    const { place, chars } = each;
    if (sample.isFull && kept?.isFull !== false) {
      sample.addChars(chars);
      continue;
    }
    const part = await each.read();
    if (!isFields(part)) {
      sample.addChars(chars);
      continue;
    }
    sample.add(partsText([part]));
    if (place !== 0) continue;
    if (callIn(part) !== null) kept = null;
    kept?.add(spokenText([part]));
  }
  return { sample: sample.built, text: kept?.text ?? '' };
}

function parsedWhole(answer: unknown, { length }: Buffer): ReadAnswer {
  const candidates = listOf((Object(answer) as Fields)['candidates']).filter(isFields);
  const all = candidates.flatMap(({ content }, place) => partsOf(content).map((part) => ({ place, part })));
  const chars = length / Math.max(1, all.length);
  const parts = all.map(({ place, part }) => ({ place, chars, read: () => Promise.resolve(part) }));
  const { embedding, embeddings } = Object(answer) as Fields;
  const isEmbedded = isFields(embedding) || listOf(embeddings).length > 0;
  const searches = candidates.map(searchesIn);
  return { answer, candidates: candidates.length, parts, isEmbedded, searches };
}

/** Members beside the candidates that say what an answer is. */
const memberNames = [
  ...['promptFeedback', 'usageMetadata', 'modelVersion'],
  ...['error', 'message', 'code', 'status'],
];

/** Reads the members that count, of a large object. Its parts are read one by one, each in a turn of the tenant. */
async function membersOf(bytes: Buffer, tenantId: string | null): Promise<ReadAnswer> {
  const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
  if (members === null) return { answer: null, candidates: 0, parts: [], isEmbedded: false, searches: [] };
  const answer = await smallMembers(bytes, members, { names: memberNames, tenantId });
  const list = members.get('candidates');
  const ranges = await elementsOf(bytes, list, { tenantId, max: maxCandidates });
  const parts: Part[] = [];
  const searches: number[] = [];
  for (const [place, range] of ranges.entries()) {
    const candidate = await memberRanges(bytes, range, tenantId);
    searches.push(searchesIn(await smallMembers(bytes, candidate, { names: metadataNames, tenantId })));
    const content = candidate?.get('content');
    const inContent = content === undefined ? null : await memberRanges(bytes, content, tenantId);
    const places = await elementsOf(bytes, inContent?.get('parts'), { tenantId, max: maxParts });
    parts.push(...places.map((each) => partAt(bytes, each, { place, tenantId })));
  }
  const isEmbedded = members.has('embedding') || members.has('embeddings');
  return { answer, candidates: ranges.length, parts, isEmbedded, searches };
}

async function elementsOf(
  bytes: Buffer,
  range: Range | undefined,
  options: { tenantId: string | null; max: number },
): Promise<readonly Range[]> {
  return range === undefined ? [] : ((await elementRanges(bytes, range, options)) ?? []);
}

function partAt(
  bytes: Buffer,
  range: Range,
  { place, tenantId }: { place: number; tenantId: string | null },
): Part {
  return {
    place,
    chars: range.until - range.from,
    read: async () =>
      (await isParsable(bytes, range, tenantId)) ? parsedPart(bytes, range, tenantId) : null,
  };
}
