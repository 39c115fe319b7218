import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { latestReport } from '../usage/reported-usage.ts';
import { JsonSource, writeJson } from '../wire/json-text.ts';
import { assertReadable } from '../wire/readable.ts';
import type { AnswerAssembler, ProviderError } from '../dialect.ts';
import { publicErrorIn, parsePublicError } from '../public-errors.ts';
import { ContentBuilder } from './content-builder.ts';
import { eventOf, firstUsage, frameOf, hasStopped, stopFrame } from './events.ts';
import { exactInput, isCall } from './said-content.ts';

/** Answers of the kind that was not asked for: a whole one in place of a stream, and a stream in place of a whole one. */

/** The frames of a whole answer, as a stream would have them. Throws if it is no answer. */
export function framesOf(answer: Buffer): Buffer[] {
  const whole: unknown = JSON.parse(answer.toString('utf8'));
  if (!isFields(whole)) throw new Error('the answer is not an object');
  const error = publicErrorIn(whole);
  const isBegun = listOf(whole['content']).length > 0;
  if (error !== null && !isBegun) return [frameOf({ ...whole, type: 'error' })];
  const { content, stop_reason, stop_sequence = null, usage, ...others } = whole;
  if (!Array.isArray(content)) throw new Error('the answer has no content');
  const blocks = new JsonSource(answer).member('content');
  const message = { ...others, content: [], stop_reason: null, stop_sequence: null, usage: usage ?? {} };
  return [
    frameOf({ type: 'message_start', message }),
    ...listOf(content)
      .map((block, index) => exactInput(block, () => blocks?.element(index) ?? null))
      .filter(isFields)
      .flatMap(blockFrames),
    ...(error === null ? [] : [frameOf({ type: 'error', error: whole['error'] })]),
    frameOf({
      ...{ type: 'message_delta', delta: { stop_reason: stop_reason ?? 'end_turn', stop_sequence } },
      usage: usage ?? {},
    }),
    stopFrame,
  ];
}

/** SDKs take texts and inputs from deltas alone. */
function blockFrames(block: Fields, index: number): Buffer[] {
  const { start, deltas } = splitBlock(block);
  return [
    frameOf({ type: 'content_block_start', index, content_block: start }),
    ...deltas.map((delta) => frameOf({ type: 'content_block_delta', index, delta })),
    frameOf({ type: 'content_block_stop', index }),
  ];
}

function splitBlock(block: Fields): { start: Fields; deltas: Fields[] } {
  const { type, text, thinking, signature, input } = block;
  if (type === 'text') return { start: { ...block, text: '' }, deltas: [{ type: 'text_delta', text }] };
  if (type === 'thinking') {
    const deltas = [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ];
    return { start: { ...block, thinking: '', signature: '' }, deltas };
  }
  if (!isCall(block)) return { start: block, deltas: [] };
  const delta = { type: 'input_json_delta', partial_json: writeJson(input ?? {}) };
  return { start: { ...block, input: {} }, deltas: [delta] };
}

/** Puts a whole answer together of the events of a stream. */
export class EventAssembler implements AnswerAssembler {
  #message: Fields | null = null;
  readonly #content = new ContentBuilder();
  #usage: Fields = {};
  #error: ProviderError | null = null;
  #isOver = false;

  /** Throws if the frame is not the JSON of an object, or too large to be read at once. */
  add(frame: Buffer): void {
    assertReadable(frame);
    const event = this.#isOver || this.#error !== null ? null : eventOf(frame);
    if (event === null) return;
    const { type, fields } = event;
    const index = typeof fields['index'] === 'number' ? fields['index'] : 0;
    switch (type) {
      case 'message_start':
        this.#message = isFields(fields['message']) ? { ...fields['message'] } : {};
        this.#usage = latestReport({}, firstUsage(this.#message));
        break;
      case 'content_block_start':
        this.#content.start(index, fields['content_block']);
        break;
      case 'content_block_delta':
        this.#content.add(index, fields['delta']);
        break;
      case 'message_delta':
        Object.assign((this.#message ??= {}), fields['delta']);
        this.#usage = latestReport(this.#usage, fields['usage']);
        break;
      case 'message_stop':
        this.#isOver = true;
        break;
      case 'error':
        this.#error = parsePublicError(fields);
        break;
      default:
        this.#error = publicErrorIn(fields);
    }
  }

  /** The answer; null if none has begun. One that broke off has an error beside its content: it is to be paid for. */
  get built(): Buffer | null {
    const message = this.#message;
    if (message === null) return this.#error && bytesOf({ type: 'error', error: shown(this.#error) });
    const { blocks } = this.#content.built;
    const isWhole = this.#isOver || hasStopped(message);
    const cut = this.#error ?? (isWhole ? null : { message: 'The stream ended early.' });
    return bytesOf({
      ...{ type: 'message', role: 'assistant', ...message },
      ...{ content: blocks, usage: this.#usage },
      ...(cut !== null && { error: shown(cut) }),
    });
  }
}

function shown({ status, message, code }: ProviderError): Fields {
  return { message: message ?? 'The provider failed.', code: status ?? code ?? null };
}

function bytesOf(answer: Fields): Buffer {
  return Buffer.from(writeJson(answer));
}
