import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { eventError, eventOf, indexOf, isEnd, isHead, mayEndBehind, responseIn } from './events.ts';
import type { TextSample } from '../usage/token-estimate.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import { assertTranslatable } from '../wire/readable.ts';
import type { AnswerPart } from '../translation/answer.ts';
import type { ModelFacts } from '../translation/api.ts';
import { numberIn, textIn } from '../translation/fields.ts';
import { PartSequence } from '../translation/part-sequence.ts';
import type { EventSource, OpenPart, StreamEvent } from '../translation/stream-events.ts';
import { endingOf, partsOf } from './answer-reader.ts';
import { callOf } from './input-reader.ts';
import { textsByDelta } from './item-events.ts';

const maxItems = 4_096;

/** Reads the events of responses. */
export class ResponseSource implements EventSource {
  readonly #facts: ModelFacts;
  readonly #sequence = new PartSequence();
  /** Items of which something has come, each with whether it had text. */
  readonly #items = new Map<number, { isDone: boolean; hasText: boolean; summary: number | null }>();
  #mayEnd = false;
  #isBegun = false;
  #isOver = false;

  constructor(facts: ModelFacts) {
    this.#facts = facts;
  }

  read(frame: Buffer): StreamEvent[] {
    assertTranslatable(frame);
    const event = this.#isOver ? null : eventOf(frame);
    if (event === null) return [];
    const { type, fields } = event;
    if (isHead(type)) return this.#start(responseIn(fields));
    if (isEnd(type)) return this.#finished(responseIn(fields));
    const error = eventError(event);
    if (error !== null) return this.#failed(error);
    const index = indexOf(fields);
    if (index === null || !type.startsWith('response.')) return [];
    this.#mayEnd = mayEndBehind(event);
    const { item } = fields;
    const started = this.#start({});
    if (type === 'response.output_item.added' && isFields(item))
      return [...started, ...this.#added(index, item)];
    if (type === 'response.output_item.done' && isFields(item))
      return [...started, ...this.#done(index, item)];
    const kind = textsByDelta.get(type)?.kind;
    return kind === undefined ? started : [...started, ...this.#delta(index, kind, fields)];
  }

  /** The event with the end has the usage. */
  get awaitsUsage(): boolean {
    return this.#mayEnd && !this.#isOver;
  }

  get held(): TextSample {
    return this.#sequence.held;
  }

  /** The last event says that a response is complete. */
  end(): StreamEvent[] {
    return [];
  }

  #start({ id, model }: Fields): StreamEvent[] {
    if (this.#isBegun) return [];
    this.#isBegun = true;
    return [{ type: 'start', id: textIn(id) ?? '', model: textIn(model) ?? this.#facts.name }];
  }

  #failed(error: ProviderError): StreamEvent[] {
    this.#isOver = true;
    return [{ type: 'error', error }];
  }

  /** Some servers send items in their last event alone. */
  #finished(response: Fields): StreamEvent[] {
    const events = this.#start(response);
    for (const [index, item] of listOf(response['output']).entries())
      if (isFields(item)) events.push(...this.#done(index, item));
    this.#isOver = true;
    const usage = readUsage(response['usage']);
    const { stop, broken } = endingOf(response);
    const ends: StreamEvent[] =
      broken === null ? [{ type: 'stop', stop }, { type: 'end' }] : [{ type: 'error', error: broken }];
    return [
      ...events,
      ...this.#sequence.closeAll(),
      ...(usage === null ? [] : [{ type: 'usage', usage, serviceTier: readServiceTier(response) } as const]),
      ...ends,
    ];
  }

  #itemAt(index: number): { isDone: boolean; hasText: boolean; summary: number | null } {
    const state = this.#items.get(index) ?? { isDone: false, hasText: false, summary: null };
    this.#items.set(index, state);
    if (this.#items.size > maxItems) throw new Error('the answer has too many items');
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
    return this.#sequence.has(key) ? [] : this.#sequence.open(key, part);
  }

  #delta(index: number, kind: AnswerPart['kind'], fields: Fields): StreamEvent[] {
    const item = this.#itemAt(index);
    const text = textIn(fields['delta']) ?? '';
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
    return [...opened, ...this.#sequence.add(key, isNext ? `\n\n${text}` : text)];
  }

  /** The whole item, whose text counts unless it came in pieces. */
  #done(index: number, item: Fields): StreamEvent[] {
    const state = this.#itemAt(index);
    if (state.isDone) return [];
    state.isDone = true;
    const parts = partsOf(item);
    const [part] = parts;
    if (part?.kind === 'call') {
      const key = keyOf(index, 'call');
      const text = state.hasText ? '' : part.argumentsText;
      return [...this.#openCall(index, item), ...this.#sequence.add(key, text), ...this.#sequence.close(key)];
    }
    if (item['type'] === 'reasoning') {
      const key = keyOf(index, 'thinking');
      const signature = part?.kind === 'thinking' ? part.signature : null;
      const text = state.hasText || part?.kind !== 'thinking' ? '' : part.text;
      const opened = part === undefined ? [] : this.#open(key, { kind: 'thinking' });
      return [...opened, ...this.#sequence.add(key, text), ...this.#sequence.close(key, signature)];
    }
    return this.#closeMessage(index, state.hasText ? [] : parts);
  }

  #closeMessage(index: number, parts: readonly AnswerPart[]): StreamEvent[] {
    const events = parts.flatMap((part, place) => {
      const key = keyOf(index, part.kind, place);
      if (part.kind !== 'text' && part.kind !== 'refusal') return [];
      return [...this.#open(key, { kind: part.kind }), ...this.#sequence.add(key, part.text)];
    });
    const open = this.#sequence.keys.filter((key) => key.startsWith(`${index} `));
    return [...events, ...open.flatMap((key) => this.#sequence.close(key))];
  }
}

function keyOf(index: number, kind: string, place: number | null = null): string {
  return `${index} ${kind} ${place ?? 0}`;
}
