import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { indexOf, type ResponseEvent } from './events.ts';
import { textsByDelta, type PartList } from './item-events.ts';
import { textOf } from '../translation/fields.ts';
import { charsEach, maxBuiltChars, maxParts } from '../bounds.ts';

/** Puts the items of a streamed response together. An item counts in its form at its end. */
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
    const { item: whole, delta } = fields;
    if (type === 'response.output_item.added' || type === 'response.output_item.done') {
      if (!isFields(whole)) return;
      this.#count(bytes);
      this.#items.set(index, { ...whole });
      if (this.#items.size > maxParts) throw new Error('the answer has too many items');
      return;
    }
    const item = this.#items.get(index);
    if (item === undefined || typeof delta !== 'string') return;
    this.#count(delta.length);
    const text = textsByDelta.get(type);
    if (text === undefined) return;
    const holder =
      text.parts === null
        ? item
        : partAt(item, text.parts, { at: fields[text.parts.index], type: text.type });
    if (holder !== null) holder[text.field] = textOf(holder[text.field]) + delta;
  }

  /** By their places in the output. */
  get built(): ReadonlyMap<number, Fields> {
    return new Map([...this.#items].toSorted(([a], [b]) => a - b));
  }

  #count(chars: number): void {
    this.#chars += chars + charsEach;
    if (this.#chars > maxBuiltChars) throw new Error('the answer is too large to be put together');
  }
}

/** A part of an item, which begins with its first delta; null out of order. */
function partAt(
  item: Fields,
  { name }: PartList,
  { at, type }: { at: unknown; type: string },
): Fields | null {
  const parts = listOf(item[name]);
  if (typeof at !== 'number' || !Number.isInteger(at) || at < 0 || at > parts.length) return null;
  const before = parts[at];
  const part = isFields(before) ? before : { type };
  parts[at] = part;
  item[name] = parts;
  return part;
}
