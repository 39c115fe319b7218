import { isFields, type Fields } from '@gatehouse/kit/fields';
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
