import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { latestReport } from '../usage/reported-usage.ts';
import { writeJson } from '../wire/json-text.ts';
import { FrameJoiner, knownFields, parseAnswer } from '../response-mode.ts';
import { partsOf } from './content.ts';
import { objectsIn } from './fields.ts';
import { publicErrorIn } from './errors.ts';
import { candidatesIn, frameOf, hasFinished, isBlocked, responseIn } from './stream.ts';
import { PartsBuilder, exactResponse } from './tools.ts';
import { maxChoices } from '../bounds.ts';

/** The one frame of a unary response, which stays as it is but for line ends. Throws if it is no answer. */
export function streamFrames(bytes: Buffer): Buffer[] {
  const answer = parseAnswer(bytes);
  const isBegun = objectsIn(answer, 'candidates').length > 0;
  const isError = publicErrorIn(answer) !== null;
  if (!isError && !isBegun && !isBlocked(answer)) throw new Error('the answer has no candidates');
  if (isError && isBegun) {
    const { error, ...others } = answer;
    return [frameOf(others), frameOf({ error })];
  }
  // No text of JSON has line ends in it.
  const line = bytes.toString('latin1').replaceAll(/[\r\n]/g, ' ');
  return [Buffer.from(`data: ${line}\n\n`, 'latin1')];
}

interface OpenCandidate {
  parts: PartsBuilder;
  /** Fields of its content beside the parts. */
  content: Fields;
  /** Its fields beside the content. */
  others: Fields;
}

/** Builds a unary response of frames. */
export class GeminiAnswerBuilder extends FrameJoiner {
  protected override readonly write = writeJson;
  readonly #candidates = new Map<number, OpenCandidate>();
  #others: Fields = {};
  #usage: Fields = {};

  protected override read(frame: Buffer): ProviderError | null {
    const parsed = responseIn(frame);
    if (parsed === null) return null;
    const response = exactResponse(parsed, frame);
    const error = publicErrorIn(response);
    if (error !== null) return error;
    const { candidates: _candidates, usageMetadata, ...others } = response;
    Object.assign(this.#others, knownFields(others));
    this.#usage = latestReport(this.#usage, usageMetadata);
    for (const { index, candidate } of candidatesIn(response)) this.#addCandidate(index, candidate);
    return null;
  }

  protected override get isComplete(): boolean {
    const candidates = [...this.#candidates.values()];
    return candidates.length === 0 || candidates.every(({ others }) => hasFinished(others));
  }

  protected override get answer(): Fields | null {
    const candidates = [...this.#candidates].toSorted(([a], [b]) => a - b);
    if (candidates.length === 0 && !isBlocked(this.#others)) return null;
    return {
      ...(candidates.length > 0 && { candidates: candidates.map(builtCandidate) }),
      ...this.#others,
      ...(Object.keys(this.#usage).length > 0 && { usageMetadata: this.#usage }),
    };
  }

  #addCandidate(index: number, { content, index: _index, ...others }: Fields): void {
    const candidate = this.#candidates.get(index) ?? { parts: new PartsBuilder(), content: {}, others: {} };
    this.#candidates.set(index, candidate);
    if (this.#candidates.size > maxChoices) throw new Error('there are too many candidates');
    if (isFields(content)) {
      const { parts: _parts, ...contentFields } = content;
      Object.assign(candidate.content, knownFields(contentFields));
      candidate.parts.add(partsOf(content));
    }
    Object.assign(candidate.others, knownFields(others));
  }
}

function builtCandidate([index, { parts, content, others }]: readonly [number, OpenCandidate]): Fields {
  return { content: { parts: parts.parts, ...content }, ...others, index };
}
