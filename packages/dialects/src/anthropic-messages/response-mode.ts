import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { latestReport } from '../usage/reported-usage.ts';
import { JsonSource, writeJson } from '../wire/json-text.ts';
import type { ProviderError } from '../dialect.ts';
import { publicErrorIn } from '../provider-errors.ts';
import { FrameJoiner, parseAnswer } from '../response-mode.ts';
import { eventOf, firstUsage, frameOf, hasStopped, stopFrame } from './stream.ts';
import { ContentBuilder, exactInput, isCall } from './tools.ts';

/** The frames of a unary response. Throws if it is no answer. */
export function streamFrames(bytes: Buffer): Buffer[] {
  const answer = parseAnswer(bytes);
  const error = publicErrorIn(answer);
  const isBegun = listOf(answer['content']).length > 0;
  if (error !== null && !isBegun) return [frameOf({ ...answer, type: 'error' })];
  const { content, stop_reason, stop_sequence = null, usage, ...others } = answer;
  if (!Array.isArray(content)) throw new Error('the answer has no content');
  const blocks = new JsonSource(bytes).member('content');
  const message = { ...others, content: [], stop_reason: null, stop_sequence: null, usage: usage ?? {} };
  return [
    frameOf({ type: 'message_start', message }),
    ...listOf(content)
      .map((block, index) => exactInput(block, () => blocks?.element(index) ?? null))
      .filter(isFields)
      .flatMap(blockFrames),
    ...(error === null ? [] : [frameOf({ type: 'error', error: answer['error'] })]),
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

/** Builds a unary response of events. */
export class MessageAnswerBuilder extends FrameJoiner {
  protected override readonly write = writeJson;
  #message: Fields | null = null;
  readonly #content = new ContentBuilder();
  #usage: Fields = {};

  protected override read(frame: Buffer): ProviderError | 'end' | null {
    const event = eventOf(frame);
    if (event === null) return null;
    const { type, fields, index, error } = event;
    switch (type) {
      case 'message_start':
        this.#message = isFields(fields['message']) ? { ...fields['message'] } : {};
        this.#usage = latestReport({}, firstUsage(this.#message));
        return null;
      case 'content_block_start':
        this.#content.start(index, fields['content_block']);
        return null;
      case 'content_block_delta':
        this.#content.add(index, fields['delta']);
        return null;
      case 'message_delta':
        Object.assign((this.#message ??= {}), fields['delta']);
        this.#usage = latestReport(this.#usage, fields['usage']);
        return null;
      case 'message_stop':
        return 'end';
      default:
        return error;
    }
  }

  protected override get isComplete(): boolean {
    return hasStopped(this.#message);
  }

  protected override get answer(): Fields | null {
    if (this.#message === null) return null;
    const { blocks } = this.#content.built;
    return { type: 'message', role: 'assistant', ...this.#message, content: blocks, usage: this.#usage };
  }
}
