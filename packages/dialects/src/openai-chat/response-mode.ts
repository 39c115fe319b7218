import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { errorIn } from '../provider-errors.ts';
import { FrameJoiner, knownFields, parseAnswer } from '../response-mode.ts';
import { usageIn } from '../usage/usage-reader.ts';
import { laterUsage, type Usage } from '../usage/usage.ts';
import {
  ChunkHead,
  doneFrame,
  frameOf,
  parseFrame,
  errorInChoice,
  hasFinished,
  SpokenChoice,
} from './chunks.ts';
import { MessageBuilder } from './message-builder.ts';
import { callsIn, plainCall, type ChatAssistantMessage } from './tool-calls.ts';
import { writeUsage } from './usage.ts';
import { maxChoices } from '../bounds.ts';

/**
 * The frames of a unary response. One without choices, or with an error in place of a message, is one frame. Throws if it is
 * no answer.
 */
export function streamFrames(bytes: Buffer): Buffer[] {
  const answer = parseAnswer(bytes);
  const { choices, usage, ...others } = answer;
  const all = listOf(choices).filter(isFields);
  const complete = all.filter(({ message }) => isFields(message));
  if (complete.length === 0) {
    if (all.length > 0 && errorIn(answer) === null && all.every((choice) => errorInChoice(choice) === null))
      throw new Error('no choice has a message');
    return [frameOf(answer)];
  }
  const head = { ...others, object: 'chat.completion.chunk' };
  const parts = complete.map((choice) => splitChoice(choice, choice['message'] as Fields));
  return [
    frameOf({ ...head, choices: parts.map(({ delta }) => delta) }),
    frameOf({ ...head, choices: parts.map(({ end }) => end) }),
    ...(isFields(usage) ? [frameOf({ ...head, choices: [], usage })] : []),
    doneFrame,
  ];
}

/** Splits a choice into its message and its end. */
function splitChoice(
  { message: _message, ...choice }: Fields,
  message: Fields,
): { delta: Fields; end: Fields } {
  const { error, finish_reason: reason, ...others } = choice;
  const { tool_calls: _calls, function_call: _old, ...content } = message;
  const calls = callsIn(message).map((call, index) => ({ ...plainCall(call), index }));
  const delta = { ...content, ...(calls.length > 0 && { tool_calls: calls }) };
  const end = { index: others['index'], delta: {}, finish_reason: reason ?? defaultReason(calls) };
  return {
    delta: { ...others, delta, finish_reason: null },
    end: error === undefined ? end : { ...end, error },
  };
}

function defaultReason(calls: readonly unknown[]): string {
  return calls.length > 0 ? 'tool_calls' : 'stop';
}

interface OpenChoice {
  message: MessageBuilder;
  spoken: SpokenChoice;
  /** Its finish reason, and its fields beside the message. */
  others: Fields;
}

/** Builds a unary response of chunks. */
export class ChatAnswerBuilder extends FrameJoiner {
  readonly #head = new ChunkHead();
  readonly #choices = new Map<number, OpenChoice>();
  #others: Fields = {};
  #usage: Usage | null = null;

  protected override read(frame: Buffer): ProviderError | 'end' | null {
    const parsed = parseFrame(frame);
    if (parsed.type === 'error') return parsed.error;
    if (parsed.type === 'chunk') this.#readChunk(parsed.chunk);
    return parsed.type === 'done' ? 'end' : null;
  }

  protected override get isComplete(): boolean {
    return [...this.#choices.values()].every(({ others }) => hasFinished(others['finish_reason']));
  }

  protected override get answer(): Fields | null {
    if (this.#choices.size === 0) return null;
    const choices = [...this.#choices].toSorted(([a], [b]) => a - b);
    return {
      ...this.#others,
      ...this.#head.built,
      object: 'chat.completion',
      choices: choices.map(([index, { message, others }]) => {
        const built = withWrittenCalls(message.built);
        return {
          index,
          message: built,
          finish_reason: defaultReason(listOf(built['tool_calls'])),
          ...others,
        };
      }),
    };
  }

  /** The first choice has the error. */
  protected override broken(answer: Fields, error: Fields): Fields {
    const [first, ...others] = listOf(answer['choices']);
    return { ...answer, choices: [{ ...(first as Fields), finish_reason: 'error', error }, ...others] };
  }

  #readChunk(chunk: Fields): void {
    const { choices, id: _id, created: _created, model: _model, object: _object, usage, ...others } = chunk;
    if (!Array.isArray(choices) && !isFields(usage)) return;
    this.#head.add(chunk);
    Object.assign(this.#others, knownFields(others));
    this.#addUsage(usageIn(chunk), usage);
    for (const choice of listOf(choices).filter(isFields)) this.#readChoice(choice);
  }

  /** `raw`: as the provider wrote it, which stays if it is the newest. */
  #addUsage(reported: Usage | null, raw: unknown): void {
    const later = laterUsage(this.#usage, reported);
    if (later === null || later === this.#usage) return;
    this.#others['usage'] = later === reported && isFields(raw) ? raw : writeUsage(later);
    this.#usage = later;
  }

  #readChoice({ index, delta, message, ...others }: Fields): void {
    const at = typeof index === 'number' ? index : 0;
    const choice = this.#choices.get(at) ?? {
      message: new MessageBuilder(),
      spoken: new SpokenChoice(),
      others: {},
    };
    this.#choices.set(at, choice);
    if (this.#choices.size > maxChoices) throw new Error('there are too many choices');
    const piece = choice.spoken.newIn({ delta, message });
    if (piece !== null) choice.message.add(piece);
    Object.assign(choice.others, knownFields(others));
  }
}

/** A message with the arguments of its calls as the model wrote them. */
function withWrittenCalls(built: ChatAssistantMessage): Fields {
  const { message, calls } = built.identified(new Set());
  if (calls.length === 0) return message;
  const written = calls.map(({ fields, argumentsText }) => ({
    ...fields,
    function: { ...(fields['function'] as Fields), arguments: argumentsText },
  }));
  return { ...message, tool_calls: written };
}
