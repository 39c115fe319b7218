import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { eventError, eventOf, indexOf, isEnd, isHead, mayEndBehind, responseIn } from './events.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import type { AnswerPart } from '../translation/answer.ts';
import { numberIn, textOf } from '../translation/fields.ts';
import type { OpenPart, StreamEvent } from '../translation/stream-events.ts';
import { endingOf, partsOf } from './whole-answer.ts';
import { callOf } from './input-reader.ts';
import { textsByDelta } from './item-events.ts';
import { AnswerSource } from '../translation/answer-source.ts';
import { maxParts } from '../bounds.ts';

/** Reads the events of responses. */
export class ResponseSource extends AnswerSource {
  /** Items of which something has come, each with whether it had text. */
  readonly #items = new Map<number, { isDone: boolean; hasText: boolean; summary: number | null }>();
  #mayEnd = false;

  protected override readFrame(frame: Buffer): StreamEvent[] {
    const event = eventOf(frame);
    if (event === null) return [];
    const { type, fields } = event;
    if (isHead(type)) {
      const { id, model } = responseIn(fields);
      return this.start(id, model);
    }
    if (isEnd(type)) return this.#ended(responseIn(fields));
    const error = eventError(event);
    if (error !== null) return this.failed(error);
    const index = indexOf(fields);
    if (index === null || !type.startsWith('response.')) return [];
    this.#mayEnd = mayEndBehind(event);
    const { item } = fields;
    const started = this.start('', '');
    if (type === 'response.output_item.added' && isFields(item))
      return [...started, ...this.#added(index, item)];
    if (type === 'response.output_item.done' && isFields(item))
      return [...started, ...this.#done(index, item)];
    const kind = textsByDelta.get(type)?.kind;
    return kind === undefined ? started : [...started, ...this.#delta(index, kind, fields)];
  }

  /** The event with the end has the usage. */
  override get awaitsUsage(): boolean {
    return this.#mayEnd && !this.isOver;
  }

  /** Some servers send items in their last event alone. */
  #ended(response: Fields): StreamEvent[] {
    const events = this.start(response['id'], response['model']);
    for (const [index, item] of listOf(response['output']).entries())
      if (isFields(item)) events.push(...this.#done(index, item));
    const usage = readUsage(response['usage']);
    if (usage !== null) events.push({ type: 'usage', usage, serviceTier: readServiceTier(response) });
    this.ending = endingOf(response);
    return [...events, ...this.finished()];
  }

  #itemAt(index: number): { isDone: boolean; hasText: boolean; summary: number | null } {
    const state = this.#items.get(index) ?? { isDone: false, hasText: false, summary: null };
    this.#items.set(index, state);
    if (this.#items.size > maxParts) throw new Error('the answer has too many items');
    return state;
  }

  #added(index: number, item: Fields): StreamEvent[] {
    this.#itemAt(index);
    const { type } = item;
    if (type === 'reasoning') return this.#open(keyOf(index, 'thinking'), { kind: 'thinking' });
    if (type !== 'function_call' && type !== 'custom_tool_call') return [];
    return this.#openCall(index, item);
  }

  #openCall(index: number, item: Fields): StreamEvent[] {
    const { id, name, isFreeform, namespace } = callOf(item);
    return this.#open(keyOf(index, 'call'), { kind: 'call', id, name, isFreeform, namespace });
  }

  #open(key: string, part: OpenPart): StreamEvent[] {
    return this.sequence.has(key) ? [] : this.sequence.open(key, part);
  }

  #delta(index: number, kind: AnswerPart['kind'], fields: Fields): StreamEvent[] {
    const item = this.#itemAt(index);
    const text = textOf(fields['delta']);
    const key = keyOf(
      index,
      kind,
      kind === 'text' || kind === 'refusal' ? numberIn(fields['content_index']) : null,
    );
    if (text === '' || item.isDone) return [];
    const opened = kind === 'call' ? [] : this.#open(key, { kind });
    const summary = numberIn(fields['summary_index']);
    const isNext = kind === 'thinking' && item.hasText && summary !== item.summary;
    item.summary = summary;
    item.hasText = true;
    return [...opened, ...this.sequence.add(key, isNext ? `\n\n${text}` : text)];
  }

  /** The whole item. Its text counts unless it came in pieces. */
  #done(index: number, item: Fields): StreamEvent[] {
    const state = this.#itemAt(index);
    if (state.isDone) return [];
    state.isDone = true;
    const parts = partsOf(item);
    const [part] = parts;
    if (part?.kind === 'call') {
      const key = keyOf(index, 'call');
      const text = state.hasText ? '' : part.argumentsText;
      return [...this.#openCall(index, item), ...this.sequence.add(key, text), ...this.sequence.close(key)];
    }
    if (item['type'] === 'reasoning') {
      const key = keyOf(index, 'thinking');
      const signature = part?.kind === 'thinking' ? part.signature : null;
      const text = state.hasText || part?.kind !== 'thinking' ? '' : part.text;
      const opened = part === undefined ? [] : this.#open(key, { kind: 'thinking' });
      return [...opened, ...this.sequence.add(key, text), ...this.sequence.close(key, signature)];
    }
    return this.#closeMessage(index, state.hasText ? [] : parts);
  }

  #closeMessage(index: number, parts: readonly AnswerPart[]): StreamEvent[] {
    const events = parts.flatMap((part, place) => {
      const key = keyOf(index, part.kind, place);
      if (part.kind !== 'text' && part.kind !== 'refusal') return [];
      return [...this.#open(key, { kind: part.kind }), ...this.sequence.add(key, part.text)];
    });
    const open = this.sequence.keys.filter((key) => key.startsWith(`${index} `));
    return [...events, ...open.flatMap((key) => this.sequence.close(key))];
  }
}

function keyOf(index: number, kind: string, place: number | null = null): string {
  return `${index} ${kind} ${place ?? 0}`;
}
