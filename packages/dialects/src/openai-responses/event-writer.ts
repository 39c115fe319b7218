import type { Fields } from '@gatehouse/kit/fields';
import { frameOf } from './events.ts';
import type { Usage } from '../usage/usage.ts';
import { writeJson } from '../wire/json-text.ts';
import type { AnswerPart, Stop } from '../translation/answer.ts';
import { now } from '../openai-chat/answer-writer.ts';
import type { ReasoningSignature } from '../translation/conversation.ts';
import type { EventWriter, OpenPart, WrittenEvent } from '../translation/stream-events.ts';
import { idOf, itemId, itemOf, responseHead, statusOf, writeUsage } from './answer-writer.ts';
import { begunItem, itemTexts, type ItemEvent, type ItemText } from './item-events.ts';
import { maxBuiltChars, maxParts } from '../bounds.ts';

/** Writes the events of responses. */
export class ResponseWriter implements EventWriter {
  #number = 0;
  readonly #echoed: Fields;
  #head: Fields;
  #id = 'resp_0';
  readonly #output: Fields[] = [];
  #open: AnswerPart | null = null;
  /** The text of the open part; null before a text of reasoning. */
  #text: ItemText | null = null;
  #itemId = '';
  #pieces: string[] = [];
  #chars = 0;
  #usage: Usage | null = null;
  #stop: Stop = { reason: 'end', sequence: null };
  /** Whether it says a refusal. */
  #refuses = false;

  /** `echoed`: fields of the request for the echo in responses. */
  constructor(echoed: Fields = {}) {
    this.#echoed = echoed;
    this.#head = { ...responseHead('resp_0', '', 0), ...echoed };
  }

  write(event: WrittenEvent): Buffer[] {
    switch (event.type) {
      case 'start':
        this.#id = idOf(event.id);
        this.#head = { ...responseHead(this.#id, event.model, now()), ...this.#echoed };
        return [
          this.#event({ type: 'response.created', response: this.#head }),
          this.#event({ type: 'response.in_progress', response: this.#head }),
        ];
      case 'open':
        return this.#opened(event.part);
      case 'delta':
        return this.#delta(event.text);
      case 'close':
        return event.isCut === true ? this.#cut() : this.#closed(event.signature);
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'stop':
        this.#stop = event.stop;
        return [];
      case 'end':
        return this.#end();
    }
  }

  /** An item received whole. */
  writeItem(item: Fields): Buffer[] {
    const events = [this.#itemEvent('added', item), this.#itemEvent('done', item)];
    this.#output.push(item);
    return events;
  }

  #end(): Buffer[] {
    const status = statusOf(this.#stop, this.#refuses);
    const usage = this.#usage === null ? null : writeUsage(this.#usage);
    const response = { ...this.#head, ...status, output: this.#output, usage };
    return [this.#event({ type: `response.${String(status['status'])}`, response })];
  }

  #opened(part: OpenPart): Buffer[] {
    if (this.#output.length >= maxParts) throw new Error('the answer has too many parts');
    this.#open = part.kind === 'call' ? { ...part, argumentsText: '' } : begun(part.kind);
    this.#refuses ||= part.kind === 'refusal';
    this.#pieces = [];
    this.#itemId = itemId(this.#id, part, this.#output.length);
    const item = itemOf(this.#open, this.#itemId);
    return [this.#itemEvent('added', begunItem(item)), ...this.#textBegun(itemTexts(item))];
  }

  #textBegun([text]: readonly ItemText[]): Buffer[] {
    this.#text = text ?? null;
    return text === undefined ? [] : text.added.map((event) => this.#textEvent(event));
  }

  #delta(text: string): Buffer[] {
    const part = this.#open;
    if (part === null) return [];
    this.#pieces.push(text);
    this.#chars += text.length;
    if (this.#chars > maxBuiltChars) throw new Error('the answer is too large to be put together');
    // An item of reasoning may have a signature alone, so its summary begins with its first text.
    const begun = this.#text === null ? this.#textBegun(itemTexts(this.#itemWith(part, text))) : [];
    if (this.#text !== null) begun.push(this.#textEvent(this.#text.delta(text)));
    return begun;
  }

  #closed(signature: ReasoningSignature | null): Buffer[] {
    const part = this.#open;
    if (part === null) return [];
    const item = this.#itemWith(part, this.#pieces.join(''), signature);
    const ends = itemTexts(item).flatMap(({ done }) => done.map((event) => this.#textEvent(event)));
    const done = this.#itemEvent('done', item);
    this.#output.push(item);
    this.#open = null;
    this.#pieces = [];
    return [...ends, done];
  }

  /** Clients make the call of an item once it is done: a cut one never is. */
  #cut(): Buffer[] {
    this.#open = null;
    this.#pieces = [];
    return [];
  }

  #itemWith(part: AnswerPart, text: string, signature: ReasoningSignature | null = null): Fields {
    return itemOf(whole(part, text, signature), this.#itemId);
  }

  #itemEvent(step: 'added' | 'done', item: Fields): Buffer {
    return this.#event({ type: `response.output_item.${step}`, output_index: this.#output.length, item });
  }

  /** Adds the place of a text to a new event. */
  #textEvent(event: ItemEvent): Buffer {
    event['output_index'] = this.#output.length;
    event['item_id'] = this.#itemId;
    return this.#event(event);
  }

  /** Numbers a new event. */
  #event(event: ItemEvent): Buffer {
    event['sequence_number'] = this.#number;
    this.#number += 1;
    // Only responses have texts of their request in them.
    return frameOf(event, 'response' in event ? writeJson : undefined);
  }
}

function begun(kind: 'text' | 'refusal' | 'thinking'): AnswerPart {
  return kind === 'thinking' ? { kind, text: '', signature: null } : { kind, text: '' };
}

function whole(part: AnswerPart, text: string, signature: ReasoningSignature | null): AnswerPart {
  if (part.kind === 'call') return { ...part, argumentsText: text };
  return part.kind === 'thinking' ? { ...part, text, signature } : { ...part, text };
}
