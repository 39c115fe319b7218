import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { AnswerBuilder, ProviderError } from './dialect.ts';
import { assertReadable } from './wire/readable.ts';

/** Response modes: providers may answer a streamed request with a unary response, or the other way round. */

/** Parses a unary response for streaming. Throws if it is not an object. */
export function parseAnswer(bytes: Buffer): Fields {
  const answer: unknown = JSON.parse(bytes.toString('utf8'));
  if (!isFields(answer)) throw new Error('the answer is not an object');
  return answer;
}

/** Builds the unary response of frames, in any dialect. */
export abstract class FrameJoiner implements AnswerBuilder {
  /** Writes an answer as JSON: `writeJson`, which takes up to eight times as long, where one may have `RawJson`. */
  protected readonly write: (answer: Fields) => string = JSON.stringify;
  #error: ProviderError | null = null;
  #isOver = false;

  /** Throws if the frame is not the JSON of an object, or too large to be read at once. */
  add(frame: Buffer): void {
    assertReadable(frame);
    if (this.#isOver || this.#error !== null) return;
    const result = this.read(frame);
    if (result === 'end') this.#isOver = true;
    else this.#error = result;
  }

  /**
   * The answer; null before it has begun. A broken one has an error beside its content, which was generated and is
   * billed.
   */
  get built(): Buffer | null {
    const { answer } = this;
    if (answer === null) return this.#error && this.#bytesOf({ error: writeError(this.#error) });
    const isWhole = this.#isOver || this.isComplete;
    const error = this.#error ?? (isWhole ? null : { message: 'The stream ended early.' });
    return this.#bytesOf(error === null ? answer : this.broken(answer, writeError(error)));
  }

  /** Reads a frame. Returns its error, or `end` if the answer is complete. */
  protected abstract read(frame: Buffer): ProviderError | 'end' | null;

  /** The answer so far; null before it begins. */
  protected abstract get answer(): Fields | null;

  /** Whether the answer is complete, though the stream has not said so. */
  protected abstract get isComplete(): boolean;

  /** The answer of a broken-off stream. */
  protected broken(answer: Fields, error: Fields): Fields {
    return { ...answer, error };
  }

  #bytesOf(answer: Fields): Buffer {
    return Buffer.from(this.write(answer));
  }
}

/** An error of a unary answer. Readers take a numeric code for its status. */
function writeError({ status, message, code, param }: ProviderError): Fields {
  return {
    message: message ?? 'The provider failed.',
    code: status ?? code ?? null,
    ...(param !== undefined && { param }),
  };
}

/** The fields other than null, for merging them into those of earlier frames. */
export function knownFields(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null && name !== '__proto__'),
  );
}
