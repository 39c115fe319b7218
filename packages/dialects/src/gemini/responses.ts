import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { writeJson } from '../wire/json-text.ts';
import { frameData } from '../wire/sse-frames.ts';
import { objectIn, objectsIn } from './fields.ts';

/** Responses: each frame of a stream is a whole one, with the pieces of its candidates that are new. */

/** Written by servers that imitate OpenAI's streams, too. */
const done = '[DONE]';

/** The response in a frame; null for a comment, an empty frame or `[DONE]`. Throws if the data is no JSON object. */
export function responseIn(frame: Buffer): Fields | null {
  const data = frameData(frame);
  if (data === null || data === '' || data === done) return null;
  const fields: unknown = JSON.parse(data);
  if (!isFields(fields)) throw new Error('a frame of the stream is not an object');
  return fields;
}

export function frameOf(response: Fields): Buffer {
  return Buffer.from(`data: ${writeJson(response)}\n\n`);
}

/** More than any model answers with. */
const maxCandidates = 128;

/** The candidates of a response, each with its index. Throws at too many. */
export function candidatesIn(response: Fields): { index: number; candidate: Fields }[] {
  const candidates = objectsIn(response, 'candidates').map((candidate) => {
    const { index } = candidate;
    return { index: typeof index === 'number' ? index : 0, candidate };
  });
  if (candidates.length > maxCandidates) throw new Error('there are too many candidates');
  return candidates;
}

/** Whether a candidate has its end. */
export function hasFinished({ finishReason: reason }: Fields): boolean {
  return typeof reason === 'string' && reason !== '' && reason !== unspecified;
}

const unspecified = 'FINISH_REASON_UNSPECIFIED';

/** Whether the prompt was blocked, so that there are no candidates: this is an answer. */
export function isBlocked(response: Fields): boolean {
  const { blockReason } = objectIn(response, 'promptFeedback');
  return typeof blockReason === 'string' && blockReason !== '';
}

/** More names and modalities than any usage has, and longer than any of its texts. */
const maxNames = 64;
const maxModalities = 32;
const maxTextChars = 256;

/**
 * Usage after a further report of it. Reports are cumulative, and the newest figures count, but for zeros, which some
 * servers report in the last frame. Long texts and names beyond `maxNames` are left out, so that no number of reports makes
 * it large.
 */
export function newerMetadata(before: Fields, now: unknown): Fields {
  if (!isFields(now)) return before;
  const merged = new Map(Object.entries(before));
  for (const [name, given] of Object.entries(now)) {
    const known = merged.get(name);
    const value = Array.isArray(given) ? modalitiesIn(given) : given;
    if (name === '__proto__' || (known === undefined && merged.size >= maxNames) || !isFigure(value))
      continue;
    if (known === undefined || (value !== null && value !== 0)) merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

/** `ModalityTokenCount`s, by which tokens have prices. */
export function modalitiesIn(value: unknown): Fields[] {
  return listOf(value)
    .slice(0, maxModalities)
    .filter(isFields)
    .map(({ modality, tokenCount }) => ({ modality, tokenCount }))
    .filter((entry) => Object.values(entry).every(isFigure));
}

function isFigure(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= maxTextChars;
  return Array.isArray(value) || typeof value !== 'object' || value === null;
}
