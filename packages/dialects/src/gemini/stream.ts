import { isFields, type Fields } from '@gatehouse/kit/fields';
import { writeJson } from '../wire/json-text.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';
import { latestReport } from '../usage/reported-usage.ts';
import { readUsage } from '../usage/usage-reader.ts';
import { withToolCalls, type Usage } from '../usage/usage.ts';
import { assertReadable } from '../wire/readable.ts';
import type { FrameKind, StreamReader } from '../dialect.ts';
import { StreamMeter } from '../stream-meter.ts';
import { errorInEvent } from '../provider-errors.ts';
import { withoutAccount } from '../provider-errors.ts';
import { objectIn, objectsIn } from './fields.ts';
import { callIn, isKeepAlive, partsOf, partsText, spokenText } from './content.ts';
import { publicErrorIn } from './errors.ts';
import { searchCalls, searchesIn } from './grounding.ts';
import { maxChoices } from '../bounds.ts';

/** Responses: each frame of a stream is a whole one, with the new pieces of its candidates. */

/** Written by servers in imitation of OpenAI's streams, too. */
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

/** The candidates of a response, each with its index. Throws at too many. */
export function candidatesIn(response: Fields): { index: number; candidate: Fields }[] {
  const candidates = objectsIn(response, 'candidates').map((candidate) => {
    const { index } = candidate;
    return { index: typeof index === 'number' ? index : 0, candidate };
  });
  if (candidates.length > maxChoices) throw new Error('there are too many candidates');
  return candidates;
}

/** Whether a candidate has its end. */
export function hasFinished({ finishReason: reason }: Fields): boolean {
  return typeof reason === 'string' && reason !== '' && reason !== unspecified;
}

const unspecified = 'FINISH_REASON_UNSPECIFIED';

/** Whether a response is the keep-alive of another gateway: of this one, or an empty object. */
export function isKeepAliveResponse(response: Fields): boolean {
  const [only, ...others] = objectsIn(response, 'candidates');
  if (Object.keys(response).length === 0) return true;
  if (only === undefined || others.length > 0 || Object.keys(response).length > 1) return false;
  const parts = partsOf(only['content']);
  const isEmpty = Object.keys(only).every((name) => name === 'content' || name === 'index');
  return isEmpty && parts.length > 0 && parts.every(isKeepAlive);
}

/** Whether the prompt was blocked, so there are no candidates: this is an answer. */
export function isBlocked(response: Fields): boolean {
  const { blockReason } = objectIn(response, 'promptFeedback');
  return typeof blockReason === 'string' && blockReason !== '';
}

/**
 * Reads usage, text and the end from the frames of a stream. The end has no mark of its own: once each candidate has its
 * finish reason, any frame may be the last.
 */
export class ResponseReader extends StreamMeter implements StreamReader {
  readonly serviceTier = null;
  #isBlocked = false;
  /** Whether usage came with the last finish reason, or after it. */
  #hasLastUsage = false;
  #usage: Fields = {};
  /** Queries of searches, by the index of their candidate. The newest frame with queries counts. */
  readonly #searches = new Map<number, number>();
  /** Whether each candidate begun has its end, by its index. */
  readonly #finished = new Map<number, boolean>();

  read(frame: Buffer): FrameKind {
    assertReadable(frame);
    if (frameEvent(frame) === 'error')
      return this.failed(withoutAccount(errorInEvent(frameData(frame) ?? '')));
    const response = responseIn(frame);
    if (response === null) return frameData(frame) === null ? 'other' : 'foreign';
    if (isKeepAliveResponse(response)) return 'other';
    for (const { index, candidate } of candidatesIn(response)) this.#readCandidate(index, candidate);
    const error = publicErrorIn(response);
    if (error !== null) return this.failed(error);
    this.#isBlocked ||= isBlocked(response);
    this.begun ||= this.#isBlocked;
    const { usageMetadata } = response;
    this.#usage = latestReport(this.#usage, usageMetadata);
    this.#hasLastUsage ||= this.complete && isFields(usageMetadata);
    this.addModel(response['modelVersion']);
    return this.complete ? 'last' : 'chunk';
  }

  /** Not all of the requested candidates need to come: some models give one, whatever the client asked for. */
  get complete(): boolean {
    const ends = [...this.#finished.values()];
    return ends.length === 0 ? this.#isBlocked : ends.every((isFinished) => isFinished);
  }

  get awaitsUsage(): boolean {
    return this.complete && !this.#hasLastUsage;
  }

  get usage(): Usage | null {
    return withToolCalls(readUsage(this.#usage), searchCalls(this.#searches.values()));
  }

  /** The last frame is one of the provider's. */
  endFrames(): Buffer[] {
    return [];
  }

  #readCandidate(index: number, candidate: Fields): void {
    const searches = searchesIn(candidate);
    if (searches > 0) this.#searches.set(index, searches);
    if (this.#searches.size > maxChoices) throw new Error('there are too many candidates');
    const parts = partsOf(candidate['content']);
    const isFinished = hasFinished(candidate);
    if (parts.length === 0 && !isFinished && !this.#finished.has(index)) return;
    this.begun = true;
    this.#finished.set(index, isFinished || this.#finished.get(index) === true);
    if (this.#finished.size > maxChoices) throw new Error('there are too many candidates');
    const isFirst = index === 0;
    this.callsTools ||= isFirst && parts.some((part) => callIn(part) !== null);
    this.addText(partsText(parts), isFirst ? spokenText(parts) : '');
  }
}
