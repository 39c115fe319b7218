import type { Fields } from '@gatehouse/kit/fields';
import { frameOf } from './events.ts';
import type { Usage } from '../usage/usage.ts';
import { writeJson } from '../wire/json-text.ts';
import type { AnswerPart, Stop } from '../translation/answer.ts';
import { now } from '../openai-chat/answer-writer.ts';
import type { ReasoningSignature } from '../translation/conversation.ts';
import type { EventWriter, OpenPart, StreamEvent } from '../translation/stream-events.ts';
import { contentPart, idOf, itemId, itemOf, responseHead, statusOf } from './answer-writer.ts';
import { writeError } from './errors.ts';
import { writeUsage } from './usage.ts';

/** The last event repeats the whole answer, so that it must be kept. */
const maxChars = 16 * 1024 * 1024;
const maxItems = 4_096;

/** Writes the events of responses. */
export class ResponseWriter implements EventWriter {
  #number = 0;
  readonly #echoed: Fields;
  #head: Fields;
  #id = 'resp_0';
  readonly #output: Fields[] = [];
  #open: AnswerPart | null = null;
  #pieces: string[] = [];
  #chars = 0;
  #usage: Usage | null = null;
  #stop: Stop = { reason: 'end', sequence: null };
  /** Whether it says a refusal. */
  #refuses = false;

  /** `echoed`: fields of the request that responses repeat. */
  constructor(echoed: Fields = {}) {
    this.#echoed = echoed;
    this.#head = { ...responseHead('resp_0', '', 0), ...echoed };
  }

  write(event: StreamEvent): Buffer[] {
    switch (event.type) {
      case 'start':
        this.#id = idOf(event.id);
        this.#head = { ...responseHead(this.#id, event.model, now()), ...this.#echoed };
        return [
          this.#event('response.created', { response: this.#head }),
          this.#event('response.in_progress', { response: this.#head }),
        ];
      case 'open':
        return this.#opened(event.part);
      case 'delta':
        return this.#delta(event.text);
      case 'close':
        return this.#closed(event.signature);
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'stop':
        this.#stop = event.stop;
        return [];
      case 'end':
        return this.#end();
      case 'error':
        return this.#failed(writeError(event.error)['error']);
    }
  }

  /** An item that comes whole. */
  writeItem(item: Fields): Buffer[] {
    const events = [
      this.#place('response.output_item.added', { item }),
      this.#place('response.output_item.done', { item }),
    ];
    this.#output.push(item);
    return events;
  }

  #end(): Buffer[] {
    const status = statusOf(this.#stop, this.#refuses);
    const usage = this.#usage === null ? null : writeUsage(this.#usage);
    const response = { ...this.#head, ...status, output: this.#output, usage };
    return [this.#event(`response.${String(status['status'])}`, { response })];
  }

  /** SDKs raise the first; clients that follow the response read the second. */
  #failed(error: unknown): Buffer[] {
    const response = { ...this.#head, status: 'failed', error, output: this.#output };
    return [
      this.#event('error', { ...(Object(error) as Fields), error }),
      this.#event('response.failed', { response }),
    ];
  }

  #opened(part: OpenPart): Buffer[] {
    if (this.#output.length >= maxItems) throw new Error('the answer has too many parts');
    this.#open = part.kind === 'call' ? { ...part, argumentsText: '' } : begun(part.kind);
    this.#refuses ||= part.kind === 'refusal';
    this.#pieces = [];
    const item = itemOf(this.#open, this.#itemId);
    const shown = {
      ...item,
      ...(item['status'] !== undefined && { status: 'in_progress' }),
      ...(item['content'] !== undefined && { content: [] }),
    };
    return [this.#place('response.output_item.added', { item: shown }), ...this.#partAdded(part.kind)];
  }

  #partAdded(kind: AnswerPart['kind']): Buffer[] {
    if (kind !== 'text' && kind !== 'refusal') return [];
    return [this.#inItem('response.content_part.added', { content_index: 0, part: contentPart(kind, '') })];
  }

  #delta(text: string): Buffer[] {
    const part = this.#open;
    if (part === null) return [];
    const isFirst = this.#pieces.length === 0;
    this.#pieces.push(text);
    this.#chars += text.length;
    if (this.#chars > maxChars) throw new Error('the answer is too large to be put together');
    switch (part.kind) {
      case 'text':
        return [this.#inItem('response.output_text.delta', { content_index: 0, delta: text, logprobs: [] })];
      case 'refusal':
        return [this.#inItem('response.refusal.delta', { content_index: 0, delta: text })];
      case 'thinking':
        return [
          ...(isFirst ? [this.#summaryAdded()] : []),
          this.#inItem('response.reasoning_summary_text.delta', { summary_index: 0, delta: text }),
        ];
      case 'call':
        return [this.#inItem(`${callEvent(part)}.delta`, { delta: text })];
    }
  }

  #summaryAdded(): Buffer {
    const part = { type: 'summary_text', text: '' };
    return this.#inItem('response.reasoning_summary_part.added', { summary_index: 0, part });
  }

  #closed(signature: ReasoningSignature | null): Buffer[] {
    const open = this.#open;
    if (open === null) return [];
    const text = this.#pieces.join('');
    const part = whole(open, text, signature);
    const item = itemOf(part, this.#itemId);
    const ends = this.#ends(part, text);
    const done = this.#place('response.output_item.done', { item });
    this.#output.push(item);
    this.#open = null;
    this.#pieces = [];
    return [...ends, done];
  }

  #ends(part: AnswerPart, text: string): Buffer[] {
    switch (part.kind) {
      case 'text':
      case 'refusal': {
        const name = part.kind === 'text' ? 'output_text' : 'refusal';
        const said = part.kind === 'text' ? { text, logprobs: [] } : { refusal: text };
        return [
          this.#inItem(`response.${name}.done`, { content_index: 0, ...said }),
          this.#inItem('response.content_part.done', {
            content_index: 0,
            part: contentPart(part.kind, text),
          }),
        ];
      }
      case 'thinking':
        return text === ''
          ? []
          : [
              this.#inItem('response.reasoning_summary_text.done', { summary_index: 0, text }),
              this.#inItem('response.reasoning_summary_part.done', {
                ...{ summary_index: 0, part: { type: 'summary_text', text } },
              }),
            ];
      case 'call':
        return [
          this.#inItem(
            `${callEvent(part)}.done`,
            part.isFreeform ? { input: text } : { arguments: text, name: part.name },
          ),
        ];
    }
  }

  get #itemId(): string {
    return itemId(this.#id, this.#open?.kind ?? 'text', this.#output.length);
  }

  #inItem(type: string, fields: Fields): Buffer {
    return this.#place(type, { item_id: this.#itemId, ...fields });
  }

  #place(type: string, fields: Fields): Buffer {
    return this.#event(type, { output_index: this.#output.length, ...fields });
  }

  #event(type: string, fields: Fields): Buffer {
    const sequence_number = this.#number;
    this.#number += 1;
    // Only responses have texts of their request in them.
    const write = 'response' in fields ? writeJson : undefined;
    return frameOf({ ...fields, type, sequence_number }, write);
  }
}

function callEvent({ isFreeform }: { isFreeform: boolean }): string {
  return isFreeform ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
}

function begun(kind: 'text' | 'refusal' | 'thinking'): AnswerPart {
  return kind === 'thinking' ? { kind, text: '', signature: null } : { kind, text: '' };
}

function whole(part: AnswerPart, text: string, signature: ReasoningSignature | null): AnswerPart {
  if (part.kind === 'call') return { ...part, argumentsText: text };
  return part.kind === 'thinking' ? { ...part, text, signature } : { ...part, text };
}
