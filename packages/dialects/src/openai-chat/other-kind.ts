import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { AnswerAssembler, ProviderError } from '../dialect.ts';
import { errorIn, errorInEvent } from '../provider-errors.ts';
import { errorInChoice, hasFinished } from './provider-error.ts';
import { assertReadable } from '../wire/readable.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';
import { ChunkHead, doneFrame, shownUsage } from './chunk-reader.ts';
import { SpokenChoice } from './spoken-choice.ts';
import { usageIn } from '../usage/usage-reader.ts';
import { laterUsage, type Usage } from '../usage/usage.ts';
import { MessageBuilder } from './message-builder.ts';
import { callsIn, frameOf, plainCall, type ChatAssistantMessage } from './tool-calls.ts';

/** Answers of the kind that was not asked for: a whole one in place of a stream, and a stream in place of a whole one. */

/**
 * The frames of a whole answer, as a stream would have them. An answer without choices, or with an error in place of a
 * message, is one frame. Throws if it is no answer.
 */
export function framesOf(answer: Buffer): Buffer[] {
  const whole: unknown = JSON.parse(answer.toString('utf8'));
  if (!isFields(whole)) throw new Error('the answer is not an object');
  const { choices, usage, ...others } = whole;
  const all = listOf(choices).filter(isFields);
  const read = all.filter(({ message }) => isFields(message));
  if (read.length === 0) {
    if (all.length > 0 && errorIn(whole) === null && all.every((choice) => errorInChoice(choice) === null))
      throw new Error('no choice has a message');
    return [frameOf(whole)];
  }
  const head = { ...others, object: 'chat.completion.chunk' };
  const parts = read.map((choice) => partsOf(choice, choice['message'] as Fields));
  return [
    frameOf({ ...head, choices: parts.map(({ said }) => said) }),
    frameOf({ ...head, choices: parts.map(({ end }) => end) }),
    ...(isFields(usage) ? [frameOf({ ...head, choices: [], usage })] : []),
    doneFrame,
  ];
}

/** Splits a choice into its message and its end. */
function partsOf({ message: _message, ...choice }: Fields, message: Fields): { said: Fields; end: Fields } {
  const { error, finish_reason: reason, ...others } = choice;
  const { tool_calls: _calls, function_call: _old, ...said } = message;
  const calls = callsIn(message).map((call, index) => ({ ...plainCall(call), index }));
  const delta = { ...said, ...(calls.length > 0 && { tool_calls: calls }) };
  const end = { index: others['index'], delta: {}, finish_reason: reason ?? usualReason(calls) };
  return {
    said: { ...others, delta, finish_reason: null },
    end: error === undefined ? end : { ...end, error },
  };
}

function usualReason(calls: readonly unknown[]): string {
  return calls.length > 0 ? 'tool_calls' : 'stop';
}

interface OpenChoice {
  message: MessageBuilder;
  spoken: SpokenChoice;
  /** Its finish reason, and what else it has beside its message. */
  others: Fields;
}

/** More than any model answers with. */
const maxChoices = 128;

/** Puts a whole answer together of the frames of a stream. */
export class ChunkAssembler implements AnswerAssembler {
  readonly #head = new ChunkHead();
  readonly #choices = new Map<number, OpenChoice>();
  #others: Fields = {};
  #usage: Usage | null = null;
  #error: ProviderError | null = null;
  #isDone = false;

  /** Throws if the frame is not the JSON of an object, or too large to be read at once. */
  add(frame: Buffer): void {
    assertReadable(frame);
    const data = frameData(frame);
    if (data === null || data === '' || this.#isDone || this.#error !== null) return;
    if (data === '[DONE]') this.#isDone = true;
    else if (frameEvent(frame) === 'error') this.#error = errorInEvent(data);
    else this.#read(JSON.parse(data));
  }

  /**
   * The answer; null if none has begun. One that broke off, with an error or without its end, has the error in its first
   * choice: what was generated is to be paid for.
   */
  get built(): Buffer | null {
    const choices = [...this.#choices].toSorted(([a], [b]) => a - b);
    if (choices.length === 0) return this.#error && bytesOf({ error: shownError(this.#error) });
    const isWhole = this.#isDone || choices.every(([, { others }]) => hasFinished(others['finish_reason']));
    const cut = this.#error ?? (isWhole ? null : { message: 'The stream ended early.' });
    return bytesOf({
      ...this.#others,
      ...this.#head.built,
      object: 'chat.completion',
      choices: choices.map(([index, { message, others }], place) => {
        const { calls, ...said } = written(message.built);
        return {
          ...{ index, ...said, finish_reason: usualReason(calls) },
          ...others,
          ...(cut !== null && place === 0 && { finish_reason: 'error', error: shownError(cut) }),
        };
      }),
    });
  }

  #read(chunk: unknown): void {
    if (!isFields(chunk)) throw new Error('a chunk of the stream is not an object');
    this.#error = errorIn(chunk);
    if (this.#error !== null) return;
    const { choices, id: _id, created: _created, model: _model, object: _object, usage, ...others } = chunk;
    if (!Array.isArray(choices) && !isFields(usage)) return;
    this.#head.add(chunk);
    Object.assign(this.#others, withValues(others));
    this.#addUsage(usageIn(chunk), usage);
    for (const choice of listOf(choices).filter(isFields)) this.#readChoice(choice);
  }

  /** `raw`: as the provider wrote it, which stays if it is the newest. */
  #addUsage(read: Usage | null, raw: unknown): void {
    const later = laterUsage(this.#usage, read);
    if (later === null || later === this.#usage) return;
    this.#others['usage'] = later === read && isFields(raw) ? raw : shownUsage(later);
    this.#usage = later;
  }

  #readChoice({ index, delta, message, ...others }: Fields): void {
    const at = typeof index === 'number' ? index : 0;
    const known = this.#choices.get(at) ?? {
      message: new MessageBuilder(),
      spoken: new SpokenChoice(),
      others: {},
    };
    this.#choices.set(at, known);
    if (this.#choices.size > maxChoices) throw new Error('there are too many choices');
    const said = known.spoken.newIn({ delta, message });
    if (said !== null) known.message.add(said);
    Object.assign(known.others, withValues(others));
  }
}

/** A message with its calls as the model wrote them. */
function written(said: ChatAssistantMessage): { message: Fields; calls: readonly Fields[] } {
  const { message, calls } = said.identified(new Set());
  const shown = calls.map(({ fields, argumentsText }) => ({
    ...fields,
    function: { ...(fields['function'] as Fields), arguments: argumentsText },
  }));
  return { message: shown.length === 0 ? message : { ...message, tool_calls: shown }, calls: shown };
}

/** An error as a whole answer has it. Its status is read again as a code. */
function shownError({ status, message, code, param }: ProviderError): Fields {
  return {
    message: message ?? 'The provider failed.',
    code: status ?? code ?? null,
    ...(param !== undefined && { param }),
  };
}

function bytesOf(answer: Fields): Buffer {
  return Buffer.from(JSON.stringify(answer));
}

function withValues(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null && name !== '__proto__'),
  );
}
