import { errorIn, hasFinished } from './provider-error.ts';
import { assertReadable } from './readable.ts';
import { frameData, frameEvent } from './sse-frames.ts';
import { ChunkHead } from './stream-reader.ts';
import { frameOf, identified, isFields, MessageBuilder, type Said } from './tool-calls.ts';

/** Answers of the kind that was not asked for: a whole one in place of a stream, and a stream in place of a whole one. */

type Fields = Record<string, unknown>;

/** The frames of a whole answer, as a stream would have them. What has no choices is one frame. */
export function framesOf(answer: Buffer): Buffer[] {
  const whole: unknown = JSON.parse(answer.toString('utf8'));
  if (!isFields(whole)) throw new Error('the answer is not an object');
  const { choices, usage, ...others } = whole;
  if (!Array.isArray(choices) || choices.length === 0) return [frameOf(whole)];
  const head = { ...others, object: 'chat.completion.chunk' };
  const read = choices.filter(isFields).filter(({ message }) => isFields(message));
  if (read.length === 0) return [frameOf(whole)];
  return [
    frameOf({ ...head, choices: read.map((choice) => ({ ...deltaOf(choice), finish_reason: null })) }),
    frameOf({ ...head, choices: read.map(endOf) }),
    ...(isFields(usage) ? [frameOf({ ...head, choices: [], usage })] : []),
    Buffer.from('data: [DONE]\n\n'),
  ];
}

function deltaOf({ message, error: _error, ...choice }: Fields): Fields {
  const { tool_calls: calls, ...said } = message as Fields;
  const numbered = Array.isArray(calls)
    ? calls.filter(isFields).map((call, index) => ({ ...call, index }))
    : [];
  return { ...choice, delta: { ...said, ...(numbered.length > 0 && { tool_calls: numbered }) } };
}

function endOf({ index, finish_reason: reason, error }: Fields): Fields {
  return { index, delta: {}, finish_reason: reason ?? 'stop', ...(error !== undefined && { error }) };
}

interface OpenChoice {
  message: MessageBuilder;
  /** Its finish reason, and what else it has beside its message. */
  others: Fields;
}

/** More than any model answers with. */
const maxChoices = 128;

/** Puts a whole answer together of the frames of a stream. */
export class AnswerAssembler {
  readonly #head = new ChunkHead();
  readonly #choices = new Map<number, OpenChoice>();
  #others: Fields = {};
  #error: Fields | null = null;
  #isDone = false;

  /** Throws if the frame is not the JSON of an object, or too large to be read at once. */
  add(frame: Buffer): void {
    assertReadable(frame);
    const data = frameData(frame);
    if (data === null || data === '' || this.#isDone || this.#error !== null) return;
    if (data === '[DONE]') this.#isDone = true;
    else if (frameEvent(frame) === 'error') this.#error = { error: data };
    else this.#read(JSON.parse(data));
  }

  /** The answer; null if the stream was not complete. An error in it is the answer. */
  get built(): Buffer | null {
    if (this.#error !== null) return Buffer.from(JSON.stringify(this.#error));
    const choices = [...this.#choices].toSorted(([a], [b]) => a - b);
    const isComplete =
      this.#isDone || choices.every(([, { others }]) => hasFinished(others['finish_reason']));
    if (choices.length === 0 || !isComplete) return null;
    const answer = {
      ...this.#others,
      ...this.#head.built,
      object: 'chat.completion',
      choices: choices.map(([index, { message, others }]) => ({
        ...{ index, message: written(message.built), finish_reason: 'stop' },
        ...others,
      })),
    };
    return Buffer.from(JSON.stringify(answer));
  }

  #read(chunk: unknown): void {
    if (!isFields(chunk)) throw new Error('a chunk of the stream is not an object');
    if (errorIn(chunk) !== null) {
      this.#error = chunk;
      return;
    }
    const { choices, id: _id, created: _created, model: _model, object: _object, ...others } = chunk;
    if (!Array.isArray(choices) && !isFields(chunk['usage'])) return;
    this.#head.add(chunk);
    Object.assign(this.#others, withValues(others));
    for (const choice of Array.isArray(choices) ? choices.filter(isFields) : []) this.#readChoice(choice);
  }

  #readChoice({ index, delta, message, ...others }: Fields): void {
    const at = typeof index === 'number' ? index : 0;
    const known = this.#choices.get(at) ?? { message: new MessageBuilder(), others: {} };
    this.#choices.set(at, known);
    if (this.#choices.size > maxChoices) throw new Error('there are too many choices');
    for (const said of [delta, message]) if (isFields(said)) known.message.add(said);
    Object.assign(known.others, withValues(others));
  }
}

/** A message with its calls as the model wrote them. */
function written(said: Said): Fields {
  const { message, calls } = identified(said, new Set());
  const shown = calls.map(({ fields, argumentsText }) => ({
    ...fields,
    function: { ...(fields['function'] as Fields), arguments: argumentsText },
  }));
  return shown.length === 0 ? message : { ...message, tool_calls: shown };
}

function withValues(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null && name !== '__proto__'),
  );
}
