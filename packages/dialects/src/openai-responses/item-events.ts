import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { AnswerPart } from '../translation/answer.ts';

/** The events of streamed items: one table for all code to split items into events and to put them together again. */

/** A text in deltas. */
interface StreamedText {
  /** The type of its part or item. */
  type: string;
  kind: AnswerPart['kind'];
  /** The prefix of its events. */
  event: string;
  /** The field with the text. */
  field: string;
  /** The list with the parts of these texts; null for a text of the item itself. */
  parts: PartList | null;
}

export interface PartList {
  /** The name of the list in its item. */
  name: 'content' | 'summary';
  /** The name of a part's index in events. */
  index: 'content_index' | 'summary_index';
  /** The prefix of the events of a part. */
  event: string;
}

const content: PartList = { name: 'content', index: 'content_index', event: 'response.content_part' };
const summary: PartList = {
  name: 'summary',
  index: 'summary_index',
  event: 'response.reasoning_summary_part',
};

const texts: readonly StreamedText[] = [
  { type: 'output_text', kind: 'text', event: 'response.output_text', field: 'text', parts: content },
  { type: 'refusal', kind: 'refusal', event: 'response.refusal', field: 'refusal', parts: content },
  {
    ...{ type: 'reasoning_text', kind: 'thinking', event: 'response.reasoning_text' },
    ...{ field: 'text', parts: content },
  },
  {
    ...{ type: 'summary_text', kind: 'thinking', event: 'response.reasoning_summary_text' },
    ...{ field: 'text', parts: summary },
  },
  {
    ...{ type: 'function_call', kind: 'call', event: 'response.function_call_arguments' },
    ...{ field: 'arguments', parts: null },
  },
  {
    ...{ type: 'custom_tool_call', kind: 'call', event: 'response.custom_tool_call_input' },
    ...{ field: 'input', parts: null },
  },
];
const textsByType: ReadonlyMap<unknown, StreamedText> = new Map(texts.map((text) => [text.type, text]));
/** By the type of a delta event. */
export const textsByDelta: ReadonlyMap<string, StreamedText> = new Map(
  texts.map((text) => [`${text.event}.delta`, text]),
);

/** The text of a part, or of an item itself. A part without a known type has the first text of its list. */
function streamedText(type: unknown, parts: PartList | null): StreamedText | null {
  const text = textsByType.get(type);
  if (text?.parts === parts) return text;
  return parts === null ? null : (texts.find((each) => each.parts === parts) ?? null);
}

export type ItemEvent = Fields & { type: string };

/** A part of an item, or an item with a text of its own. */
export class ItemText {
  readonly #text: StreamedText | null;
  readonly #parts: PartList | null;
  readonly #place: Fields;
  readonly #holder: Fields;
  #deltaHead: ItemEvent | null = null;

  constructor(holder: Fields, parts: PartList | null = null, index = 0) {
    this.#text = streamedText(holder['type'], parts);
    this.#parts = parts;
    this.#place = parts === null ? {} : { [parts.index]: index };
    this.#holder = holder;
  }

  /** The whole text; null for a part without one. */
  get value(): string | null {
    const value = this.#text === null ? null : this.#holder[this.#text.field];
    return typeof value === 'string' ? value : null;
  }

  /** The events at the beginning of a part. */
  get added(): ItemEvent[] {
    if (this.#parts === null) return [];
    const part = this.#text === null || this.value === null ? {} : { [this.#text.field]: '' };
    return [{ type: `${this.#parts.event}.added`, ...this.#place, part: { ...this.#holder, ...part } }];
  }

  /** An event of its own for each call. */
  delta(delta: string): ItemEvent {
    this.#deltaHead ??= { type: `${this.#text?.event ?? ''}.delta`, ...this.#place, ...this.#logprobs };
    return { ...this.#deltaHead, delta };
  }

  /** The events at its end. */
  get done(): ItemEvent[] {
    const events: ItemEvent[] = [];
    const { value } = this;
    if (this.#text !== null && value !== null) {
      const { event, field } = this.#text;
      const name = field === 'arguments' && { name: this.#holder['name'] };
      events.push({ type: `${event}.done`, ...this.#place, [field]: value, ...this.#logprobs, ...name });
    }
    if (this.#parts !== null)
      events.push({ type: `${this.#parts.event}.done`, ...this.#place, part: this.#holder });
    return events;
  }

  /** SDKs expect them beside each text. */
  get #logprobs(): Fields {
    return this.#text?.kind === 'text' ? { logprobs: listOf(this.#holder['logprobs']) } : {};
  }
}

/** The texts of a complete item, which its events carry. */
export function itemTexts(item: Fields): ItemText[] {
  const parts = partsOf(item);
  if (parts !== null)
    return listOf(item[parts.name])
      .filter(isFields)
      .map((part, index) => new ItemText(part, parts, index));
  const text = new ItemText(item);
  return text.value === null ? [] : [text];
}

/** An item at its beginning. Those without texts begin complete, and reasoning has no status. */
export function begunItem(item: Fields): Fields {
  const parts = partsOf(item);
  if (parts === summary) return { ...item, summary: [] };
  const status = 'in_progress';
  if (parts === content) return { ...item, content: [], status };
  const field = streamedText(item['type'], null)?.field;
  return field === undefined || typeof item[field] !== 'string' ? item : { ...item, [field]: '', status };
}

function partsOf({ type }: Fields): PartList | null {
  if (type === 'message') return content;
  return type === 'reasoning' ? summary : null;
}
