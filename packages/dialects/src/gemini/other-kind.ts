import { isFields, type Fields } from '@gatehouse/kit/fields';
import { latestReport } from '../usage/reported-usage.ts';
import { writeJson } from '../wire/json-text.ts';
import { assertReadable } from '../wire/readable.ts';
import type { AnswerAssembler, ProviderError } from '../dialect.ts';
import { partsOf } from './content.ts';
import { objectsIn } from './fields.ts';
import { publicErrorIn } from './google-error.ts';
import { PartsBuilder } from './parts-builder.ts';
import { candidatesIn, frameOf, hasFinished, isBlocked, responseIn } from './responses.ts';
import { exactResponse } from './said-parts.ts';

/** Answers of the kind that was not asked for: a whole one in place of a stream, and a stream in place of a whole one. */

/** The one frame of a whole answer, which stays as it is but for line ends between its tokens. Throws if it is no answer. */
export function framesOf(answer: Buffer): Buffer[] {
  const whole: unknown = JSON.parse(answer.toString('utf8'));
  if (!isFields(whole)) throw new Error('the answer is not an object');
  const isBegun = objectsIn(whole, 'candidates').length > 0;
  const error = publicErrorIn(whole);
  if (error === null && !isBegun && !isBlocked(whole)) throw new Error('the answer has no candidates');
  if (error !== null && isBegun) {
    const { error: own, ...others } = whole;
    return [frameOf(others), frameOf({ error: own })];
  }
  const line = Buffer.from(answer);
  for (let at = 0; at < line.length; at += 1)
    if (line[at] === lineFeed || line[at] === carriageReturn) line[at] = space;
  return [Buffer.concat([Buffer.from('data: '), line, Buffer.from('\n\n')])];
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;

interface OpenCandidate {
  parts: PartsBuilder;
  /** Fields of its content beside the parts, and its own. */
  content: Fields;
  others: Fields;
}

/** More than any model answers with. */
const maxCandidates = 128;

/** Puts a whole answer together of the frames of a stream. */
export class ResponseAssembler implements AnswerAssembler {
  readonly #candidates = new Map<number, OpenCandidate>();
  #others: Fields = {};
  #usage: Fields = {};
  #error: ProviderError | null = null;

  /** Throws if the frame is not the JSON of an object, or too large to be read at once. */
  add(frame: Buffer): void {
    assertReadable(frame);
    const read = this.#error === null ? responseIn(frame) : null;
    if (read === null) return;
    const response = exactResponse(read, frame);
    this.#error = publicErrorIn(response);
    if (this.#error !== null) return;
    const { candidates: _candidates, usageMetadata, ...others } = response;
    Object.assign(this.#others, withValues(others));
    this.#usage = latestReport(this.#usage, usageMetadata);
    for (const { index, candidate } of candidatesIn(response)) this.#addCandidate(index, candidate);
  }

  /** The answer; null if none has begun. One that broke off has an error beside its candidates: it is to be paid for. */
  get built(): Buffer | null {
    const candidates = [...this.#candidates].toSorted(([a], [b]) => a - b);
    const isOver =
      candidates.length === 0
        ? isBlocked(this.#others)
        : candidates.every(([, { others }]) => hasFinished(others));
    if (candidates.length === 0 && !isOver) return this.#error && bytesOf({ error: shown(this.#error) });
    const cut = this.#error ?? (isOver ? null : { message: 'The stream ended early.' });
    return bytesOf({
      ...(candidates.length > 0 && { candidates: candidates.map(builtCandidate) }),
      ...this.#others,
      ...(Object.keys(this.#usage).length > 0 && { usageMetadata: this.#usage }),
      ...(cut !== null && { error: shown(cut) }),
    });
  }

  #addCandidate(index: number, { content, index: _index, ...others }: Fields): void {
    const known = this.#candidates.get(index) ?? { parts: new PartsBuilder(), content: {}, others: {} };
    this.#candidates.set(index, known);
    if (this.#candidates.size > maxCandidates) throw new Error('there are too many candidates');
    if (isFields(content)) {
      const { parts: _parts, ...ofContent } = content;
      Object.assign(known.content, withValues(ofContent));
      known.parts.add(partsOf(content));
    }
    Object.assign(known.others, withValues(others));
  }
}

function builtCandidate([index, { parts, content, others }]: readonly [number, OpenCandidate]): Fields {
  return { content: { parts: parts.parts, ...content }, ...others, index };
}

function shown({ status, message, code }: ProviderError): Fields {
  return { message: message ?? 'The provider failed.', code: status ?? code ?? null };
}

function bytesOf(answer: Fields): Buffer {
  return Buffer.from(writeJson(answer));
}

function withValues(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null && name !== '__proto__'),
  );
}
