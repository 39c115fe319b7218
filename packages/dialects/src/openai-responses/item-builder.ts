import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { indexOf, type ResponseEvent } from './events.ts';
import { textOf } from './items.ts';

/** All items of the responses that become one, and as many for each of their pieces. Most texts come twice. */
const maxChars = 16 * 1024 * 1024;
const charsEach = 8;
export const maxItems = 4_096;

/** The places of the pieces that items have: the list that each is in, its index there, its type and its text. */
const partPieces: Readonly<Record<string, { list: string; index: string; type: string; text: string }>> = {
  'response.output_text.delta': {
    list: 'content',
    index: 'content_index',
    type: 'output_text',
    text: 'text',
  },
  'response.refusal.delta': { list: 'content', index: 'content_index', type: 'refusal', text: 'refusal' },
  'response.reasoning_text.delta': {
    ...{ list: 'content', index: 'content_index', type: 'reasoning_text', text: 'text' },
  },
  'response.reasoning_summary_text.delta': {
    ...{ list: 'summary', index: 'summary_index', type: 'summary_text', text: 'text' },
  },
};

/** Pieces of an item's own texts. */
const textPieces: Readonly<Record<string, string>> = {
  'response.function_call_arguments.delta': 'arguments',
  'response.custom_tool_call_input.delta': 'input',
};

/** Puts the items of a streamed response together. An item that has ended counts as it then is. */
export class ItemBuilder {
  readonly #items = new Map<number, Fields>();
  #chars: number;

  /** `chars`: of other items, which count as well. */
  constructor(chars = 0) {
    this.#chars = chars;
  }

  get chars(): number {
    return this.#chars;
  }

  /** `bytes`: the size of the event. Throws at more than an answer may have. */
  add({ type, fields }: ResponseEvent, bytes: number): void {
    const index = indexOf(fields);
    if (index === null) return;
    const { item, delta } = fields;
    if (type === 'response.output_item.added' || type === 'response.output_item.done') {
      if (!isFields(item)) return;
      this.#count(bytes);
      this.#items.set(index, { ...item });
      if (this.#items.size > maxItems) throw new Error('the answer has too many items');
      return;
    }
    const known = this.#items.get(index);
    if (known === undefined || typeof delta !== 'string') return;
    this.#count(delta.length);
    const text = textPieces[type];
    if (text !== undefined) known[text] = textOf(known[text]) + delta;
    else addToPart(known, type, fields, delta);
  }

  /** By their places in the output. */
  get built(): ReadonlyMap<number, Fields> {
    return new Map([...this.#items].toSorted(([a], [b]) => a - b));
  }

  #count(chars: number): void {
    this.#chars += chars + charsEach;
    if (this.#chars > maxChars) throw new Error('the answer is too large to be put together');
  }
}

function addToPart(item: Fields, type: string, fields: Fields, delta: string): void {
  const piece = Object.hasOwn(partPieces, type) ? partPieces[type] : undefined;
  if (piece === undefined) return;
  const at = fields[piece.index];
  const parts = listOf(item[piece.list]);
  // Parts come in their order.
  if (typeof at !== 'number' || !Number.isInteger(at) || at < 0 || at > parts.length) return;
  const before = parts[at];
  const part = isFields(before) ? before : { type: piece.type };
  parts[at] = { ...part, [piece.text]: textOf(part[piece.text]) + delta };
  item[piece.list] = parts;
}
