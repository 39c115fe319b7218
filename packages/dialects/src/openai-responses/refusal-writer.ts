import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { RefusalWriter } from '../refusal-writer.ts';
import type { Usage } from '../usage/usage.ts';
import { writeJson } from '../wire/json-text.ts';
import { idOf, itemId, itemOf, responseHead, writeUsage } from './answer-writer.ts';
import { eventOf, frameOf, indexOf, isHead, responseIn, type ResponseEvent } from './events.ts';
import { ItemBuilder } from './item-builder.ts';
import { itemTexts, type ItemEvent } from './item-events.ts';
import { itemEvents } from './response-mode.ts';

/** Ends responses with one more message, in which a part is the refusal. They are complete: clients repeat incomplete ones. */
export class ResponseRefusalWriter implements RefusalWriter {
  #head: Fields = responseHead('resp_0', '', 0);
  readonly #items = new ItemBuilder();
  /** Places of the items with an end. */
  readonly #done = new Set<number>();
  /** Events with the ends of texts and parts, by their places. */
  readonly #ended = new Set<string>();
  #number = 0;
  #output: Fields[] | null = null;

  get open(): readonly number[] {
    return this.#output === null ? [0] : [];
  }

  see(_frame: Buffer): void {
    // The first events have no text of the model, so the client gets them.
  }

  left(frame: Buffer): void {
    const event = eventOf(frame);
    if (event === null) return;
    const { type, fields } = event;
    const { sequence_number: number } = fields;
    if (typeof number === 'number') this.#number = number + 1;
    if (isHead(type)) this.#head = { ...this.#head, ...responseIn(fields) };
    else if (isFields(fields['response'])) return;
    this.#items.add(begunPart(event), frame.length);
    const index = indexOf(fields);
    if (index === null || !type.endsWith('.done')) return;
    if (type === 'response.output_item.done') this.#done.add(index);
    else this.#ended.add(endKey(index, event));
  }

  refuse(_choice: number, message: string): Buffer[] {
    const items = this.#items.built;
    const ends: ItemEvent[] = [];
    const output: Fields[] = [];
    for (const [place, item] of items) {
      if (!this.#done.has(place)) {
        // A client makes a call once its item is done: a cut one never is.
        if (!isEndable(item)) continue;
        ends.push(...this.#endsOf(place, completed(item)));
      }
      output.push(this.#done.has(place) ? item : completed(item));
    }
    const place = Math.max(-1, ...items.keys()) + 1;
    const id = itemId(idOf(String(this.#head['id'])), { kind: 'refusal' }, place);
    const refusal = itemOf({ kind: 'refusal', text: message }, id);
    this.#output = [...output, refusal];
    return [...ends, ...itemEvents(refusal, place)].map((event) => this.#frame(event));
  }

  isBeginning(frame: Buffer): boolean {
    const event = frame.includes('.added') ? eventOf(frame) : null;
    if (event === null) return false;
    const { type, fields } = event;
    if (type.endsWith('_part.added')) return true;
    return type === 'response.output_item.added' && isFields(fields['item']) && isEndable(fields['item']);
  }

  without(frame: Buffer): Buffer | null {
    return this.#output === null ? frame : null;
  }

  endFrames(usage: Usage | null): Buffer[] {
    const response = {
      ...{ ...this.#head, status: 'completed', output: this.#output ?? [] },
      usage: usage === null ? null : writeUsage(usage),
    };
    return [this.#frame({ type: 'response.completed', response })];
  }

  /** The ends of an item under way, and of its texts. */
  #endsOf(output_index: number, item: Fields): ItemEvent[] {
    const place = { output_index, item_id: item['id'] };
    const ends = itemTexts(item)
      .flatMap(({ done }) => done)
      .map((event) => ({ ...event, ...place }))
      .filter((event) => !this.#ended.has(endKey(output_index, { type: event.type, fields: event })));
    return [...ends, { type: 'response.output_item.done', output_index, item }];
  }

  #frame(event: ItemEvent): Buffer {
    const frame = frameOf({ ...event, sequence_number: this.#number }, writeJson);
    this.#number += 1;
    return frame;
  }
}

/** An item under way as one at its end. Reasoning has no status. */
function completed(item: Fields): Fields {
  if (item['type'] !== 'message') return item;
  const content = listOf(item['content'])
    .filter(isFields)
    .map((part) => (part['type'] === 'output_text' ? { annotations: [], logprobs: [], ...part } : part));
  return { ...item, content, status: 'completed' };
}

function endKey(place: number, { type, fields }: ResponseEvent): string {
  return JSON.stringify([place, type, fields['content_index'] ?? fields['summary_index']]);
}

/** Whether an item under way has texts of its own. */
function isEndable({ type }: Fields): boolean {
  return type === 'message' || type === 'reasoning';
}

/** A part begins with an event of its own, and may end without a text: read as an empty piece of it. */
function begunPart(event: ResponseEvent): ResponseEvent {
  const { type, fields } = event;
  const { part } = fields;
  if (!isFields(part) || !type.endsWith('_part.added')) return event;
  const name = part['type'] === 'summary_text' ? 'reasoning_summary_text' : String(part['type']);
  return { type: `response.${name}.delta`, fields: { ...fields, delta: '' } };
}
